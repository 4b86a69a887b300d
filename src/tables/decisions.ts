import type { DecisionRecord, PreviousDecision } from "../domain/decision.ts";
import { arrayParameters, type Column, columnValues, STORED, selectList } from "../postgres/batch-sql.ts";
import { encodeTextArray } from "../postgres/binary-array.ts";
import { type Database, prepared, preparedGeneric, type Tx } from "../postgres/database.ts";
import { maintainPartitions, type PartitionedTable } from "../postgres/partitions.ts";
import {
  fromStoredAccount,
  NO_TOPICS,
  type StoredDecisionAccount,
  toStoredAccount,
} from "./stored-decision-account.ts";

interface Row extends Omit<DecisionRecord, "account"> {
  account: string;
}

const COLUMNS: readonly Column<Row>[] = [
  ["case_id", "uuid", "caseId"],
  ["number", "int4", "number"],
  ["made_at", "timestamptz", "madeAt"],
  ["engine", "text", "engine"],
  ["model_version", "int8", "modelVersion"],
  ["kind", "text", "kind"],
  ["action_id", "uuid", "actionId"],
  ["ideal_time", "timestamptz", "idealTime"],
  ["chance", "float8", "chance"],
  ["propensity", "float8", "propensity"],
  ["facts", "text", "facts"],
  ["account", "jsonb", "account"],
];
const NAMES = COLUMNS.map(([name]) => name).join(", ");

const INSERT = prepared(
  "insert_decisions",
  `insert into decisions (merchant_id, ${NAMES}) select $1::uuid, d.* from unnest(${arrayParameters(COLUMNS, 2)}) as d (${NAMES}) ${STORED}`,
);

/** The caller has locked the cases, so numbers are unique. */
export async function insertDecisions(tx: Tx, merchantId: string, decisions: readonly DecisionRecord[]) {
  const rows = decisions.map((each) => ({ ...each, account: JSON.stringify(toStoredAccount(each.account)) }));
  await tx.run(INSERT, [merchantId, ...columnValues(rows, COLUMNS)]);
}

interface StoredRecord extends Omit<DecisionRecord, "account"> {
  account: StoredDecisionAccount;
}

const LATEST = prepared(
  "latest_decisions",
  `select d.*
   from unnest($2::uuid[]) as c (id)
   cross join lateral (
     select ${selectList(COLUMNS.filter(([name]) => name !== "account"))},
       account->'known' as known, account->'about' as about, account->'reasons'->>-1 as "lastReason"
     from decisions where merchant_id = $1 and case_id = c.id order by number desc limit 1
   ) d`,
);

export async function latestDecisions(tx: Tx, merchantId: string, caseIds: readonly string[]) {
  const { rows } = await tx.run<PreviousDecision>(LATEST, [merchantId, encodeTextArray(caseIds, "uuid")]);
  return new Map(rows.map((row) => [row.caseId, { ...row, about: row.about ?? NO_TOPICS }]));
}

const OF_CASES = prepared(
  "decisions_of_cases",
  `select ${selectList(COLUMNS)} from decisions where merchant_id = $1 and case_id = any($2::uuid[]) order by case_id, number`,
);

/** Grouped by case, oldest first. */
export async function decisionsOfCases(tx: Tx, merchantId: string, caseIds: readonly string[]) {
  return (await tx.run<StoredRecord>(OF_CASES, [merchantId, encodeTextArray(caseIds, "uuid")])).rows.map(restoreRecord);
}

/** Oldest first. */
export const decisionsOfCase = (tx: Tx, merchantId: string, caseId: string) =>
  decisionsOfCases(tx, merchantId, [caseId]);

const NEWEST_EXPLAINED_COUNT = 200;
/** Includes the first one that knew the decline. */
const OLDEST_EXPLAINED_COUNT = 20;

// A case may have tens of thousands.
const EXPLANATORY = preparedGeneric(
  "telling_decisions",
  `select explanatory.*
   from unnest($2::uuid[]) as c (id)
   cross join lateral (
     select ${selectList(COLUMNS)} from decisions
     where merchant_id = $1 and case_id = c.id and (
       number <= ${OLDEST_EXPLAINED_COUNT}
       or number > (select max(number) from decisions where merchant_id = $1 and case_id = c.id) - ${NEWEST_EXPLAINED_COUNT}
       or number in (
         select unnest(array[min(number), max(number)]) from decisions where merchant_id = $1 and case_id = c.id
         group by kind, action_id))
     order by number
   ) explanatory
   order by explanatory."caseId", explanatory.number`,
);

/** In `decisionsOfCases` order: the oldest, the latest, and the first and last of each kind and action. */
export async function explanatoryDecisions(tx: Tx, merchantId: string, caseIds: readonly string[]) {
  return (await tx.run<StoredRecord>(EXPLANATORY, [merchantId, encodeTextArray(caseIds, "uuid")])).rows.map(
    restoreRecord,
  );
}

export type InvoiceDecision = DecisionRecord & { invoiceId: string };

// Fewer than `readPageAfter`, because accounts are long.
const AFTER = preparedGeneric(
  "decisions_after",
  `select
     (select invoice_id from cases c where c.merchant_id = d.merchant_id and c.id = d.case_id) as "invoiceId",
     ${selectList(COLUMNS)}
   from decisions d
   where merchant_id = $1 and (case_id, number) > ($2, $3)
   order by case_id, number limit 200`,
);
const BEFORE_FIRST = { caseId: "00000000-0000-0000-0000-000000000000", number: 0 };

/** By case, in order of opening. */
export async function decisionsAfter(tx: Tx, merchantId: string, last?: InvoiceDecision): Promise<InvoiceDecision[]> {
  const { caseId, number } = last ?? BEFORE_FIRST;
  const { rows } = await tx.run<StoredRecord & { invoiceId: string }>(AFTER, [merchantId, caseId, number]);
  return rows.map(restoreRecord);
}

const restoreRecord = <Row extends StoredRecord>(row: Row) => ({ ...row, account: fromStoredAccount(row.account) });

/** By month of the case's opening. */
const DECISIONS_TABLE: PartitionedTable = { name: "decisions", timeColumn: "made_at", span: "month" };

/** Drops partitions with only cases opened before `keepFrom`. */
export const maintainDecisionPartitions = (db: Database, now: Date, keepFrom: Date) =>
  maintainPartitions(db, DECISIONS_TABLE, now, keepFrom);
