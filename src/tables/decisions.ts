import type { DecisionRecord, PreviousDecision } from "../domain/decision.ts";
import { updateFormerSentences } from "../domain/payment-method-names.ts";
import { arrayParameters, type Column, columnValues, selectList } from "../postgres/batch-sql.ts";
import { encodeTextArray } from "../postgres/binary-array.ts";
import { type Database, prepared, preparedGeneric, type Tx } from "../postgres/database.ts";
import { maintainPartitions, type PartitionedTable } from "../postgres/partitions.ts";
import {
  type FormerDecisionAccount,
  fromStoredAccount,
  inferSentenceTopics,
  type StoredDecisionAccount,
  toStoredAccount,
} from "./stored-decision-account.ts";

// The account travels as JSON.
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
  `insert into decisions (merchant_id, ${NAMES}) select $1::uuid, d.* from unnest(${arrayParameters(COLUMNS, 2)}) as d (${NAMES})`,
);

/** Keep what was decided. The cases are locked, so no number is given twice. */
export async function insertDecisions(tx: Tx, merchantId: string, decisions: readonly DecisionRecord[]) {
  const rows = decisions.map((each) => ({ ...each, account: JSON.stringify(toStoredAccount(each.account)) }));
  await tx.run(INSERT, [merchantId, ...columnValues(rows, COLUMNS)]);
}

interface StoredRecord extends Omit<DecisionRecord, "account"> {
  account: StoredDecisionAccount | FormerDecisionAccount;
}

const LATEST = prepared(
  "latest_decisions",
  `select d.* from unnest($2::uuid[]) as c (id)
   cross join lateral (
     select ${selectList(COLUMNS.filter(([name]) => name !== "account"))}, account->'known' as known, account->'about' as about, account->'reasons'->>-1 as "lastReason" from decisions where merchant_id = $1 and case_id = c.id order by number desc limit 1) d`,
);

/** The latest decision in each of these cases, by case. */
export async function latestDecisions(tx: Tx, merchantId: string, caseIds: readonly string[]) {
  const { rows } = await tx.run<PreviousDecision>(LATEST, [merchantId, encodeTextArray(caseIds, "uuid")]);
  return new Map(
    rows.map((row) => [
      row.caseId,
      { ...row, known: updateFormerSentences(row.known), about: row.about ?? inferSentenceTopics(row.known, []) },
    ]),
  );
}

const OF_CASES = prepared(
  "decisions_of_cases",
  `select ${selectList(COLUMNS)} from decisions where merchant_id = $1 and case_id = any($2::uuid[]) order by case_id, number`,
);

/** All decisions in these cases: those of a case together, oldest first. */
export async function decisionsOfCases(tx: Tx, merchantId: string, caseIds: readonly string[]) {
  return (await tx.run<StoredRecord>(OF_CASES, [merchantId, encodeTextArray(caseIds, "uuid")])).rows.map(restoreRecord);
}

/** All decisions in a case, oldest first. */
export const decisionsOfCase = (tx: Tx, merchantId: string, caseId: string) =>
  decisionsOfCases(tx, merchantId, [caseId]);

/** Of a case so many newest decisions are told one by one. */
const NEWEST_EXPLAINED_COUNT = 200;
/** Among so many the first one is that knew how the invoice had failed: the decline is pushed with the invoice, or soon after it. */
const OLDEST_EXPLAINED_COUNT = 20;

// Where many customers share an id every payment of theirs is a new fact for each of their open cases: they may have ten thousands of decisions.
const EXPLANATORY = preparedGeneric(
  "telling_decisions",
  `select told.* from unnest($2::uuid[]) as c (id)
   cross join lateral (
     select ${selectList(COLUMNS)} from decisions
     where merchant_id = $1 and case_id = c.id and (
       number <= ${OLDEST_EXPLAINED_COUNT}
       or number > (select max(number) from decisions where merchant_id = $1 and case_id = c.id) - ${NEWEST_EXPLAINED_COUNT}
       or number in (
         select unnest(array[min(number), max(number)]) from decisions where merchant_id = $1 and case_id = c.id
         group by kind, action_id))
     order by number) told
   order by told."caseId", told.number`,
);

/**
 * Those decisions in these cases by which people are answered, in the order of `decisionsOfCases`: the oldest and the newest ones, and the first and the last
 * of each kind and of each action. Of most cases that is all of them.
 */
export async function explanatoryDecisions(tx: Tx, merchantId: string, caseIds: readonly string[]) {
  return (await tx.run<StoredRecord>(EXPLANATORY, [merchantId, encodeTextArray(caseIds, "uuid")])).rows.map(
    restoreRecord,
  );
}

/** A decision and the invoice that it is about. */
export type InvoiceDecision = DecisionRecord & { invoiceId: string };

// Fewer than of records: what each rested on is long.
const AFTER = preparedGeneric(
  "decisions_after",
  `select (select invoice_id from cases c where c.merchant_id = d.merchant_id and c.id = d.case_id) as "invoiceId", ${selectList(COLUMNS)}
   from decisions d where merchant_id = $1 and (case_id, number) > ($2, $3) order by case_id, number limit 200`,
);
const BEFORE_FIRST = { caseId: "00000000-0000-0000-0000-000000000000", number: 0 };

/** A page of decisions, those of a case together, in the order in which cases were opened. `last`: undefined asks for the first ones. */
export async function decisionsAfter(tx: Tx, merchantId: string, last?: InvoiceDecision): Promise<InvoiceDecision[]> {
  const { caseId, number } = last ?? BEFORE_FIRST;
  const { rows } = await tx.run<StoredRecord & { invoiceId: string }>(AFTER, [merchantId, caseId, number]);
  return rows.map(restoreRecord);
}

const restoreRecord = <Row extends StoredRecord>(row: Row) => ({ ...row, account: fromStoredAccount(row.account) });

/** A partition holds the decisions on the cases that were opened in its month. */
const DECISIONS_TABLE: PartitionedTable = { name: "decisions", timeColumn: "made_at", span: "month" };

/** Make the months of the decisions, and drop those whose cases all were opened before `keepFrom`: see `maintainPartitions`. */
export const maintainDecisionPartitions = (db: Database, now: Date, keepFrom: Date) =>
  maintainPartitions(db, DECISIONS_TABLE, now, keepFrom);
