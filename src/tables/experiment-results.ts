import type { CellTotals, ExperimentCell } from "../domain/experiment.ts";
import { arrayParameters, type Column, columnValues, selectList } from "../postgres/batch-sql.ts";
import { prepared, type Tx } from "../postgres/database.ts";

export type CellTally = ExperimentCell & CellTotals;

const KEY: readonly Column<CellTally>[] = [
  ["phase", "text", "phase"],
  ["arm", "text", "arm"],
  ["half", "int2", "half"],
  ["measure", "text", "measure"],
];
const SUMS: readonly Column<CellTally>[] = [
  ["customers", "float8", "customers"],
  ["due", "float8", "due"],
  ["got", "float8", "got"],
  ["due_due", "float8", "dueDue"],
  ["due_got", "float8", "dueGot"],
  ["got_got", "float8", "gotGot"],
];
const COLUMNS = [...KEY, ...SUMS];
const columnNames = (columns: readonly Column<CellTally>[]) => columns.map(([name]) => name).join(", ");

const ADD = prepared(
  "add_tallies",
  `insert into experiment_tallies as t (merchant_id, experiment_id, ${columnNames(COLUMNS)})
   select $1::uuid, $2::uuid, c.* from unnest(${arrayParameters(COLUMNS, 3)}) as c (${columnNames(COLUMNS)})
   on conflict (merchant_id, experiment_id, ${columnNames(KEY)}) do update
     set ${SUMS.map(([name]) => `${name} = t.${name} + excluded.${name}`).join(", ")}`,
);

/** Each cell at most once. The caller has locked the experiment. */
export async function addTallies(tx: Tx, merchantId: string, experimentId: string, tallies: readonly CellTally[]) {
  await tx.run(ADD, [merchantId, experimentId, ...columnValues(tallies, COLUMNS)]);
}

const TALLIES = prepared(
  "experiment_tallies",
  `select ${selectList(COLUMNS)} from experiment_tallies where merchant_id = $1 and experiment_id = $2`,
);

export async function talliesOf(tx: Tx, merchantId: string, experimentId: string) {
  return (await tx.run<CellTally>(TALLIES, [merchantId, experimentId])).rows;
}

const INSERT_ANALYSIS = prepared(
  "insert_look",
  `insert into experiment_looks (merchant_id, experiment_id, at, look) values ($1, $2, $3, $4)
   on conflict (merchant_id, experiment_id, at) do nothing`,
);

/** @param analysis  stored as JSON */
export async function insertInterimAnalysis(
  tx: Tx,
  merchantId: string,
  experimentId: string,
  at: Date,
  analysis: object,
) {
  await tx.run(INSERT_ANALYSIS, [merchantId, experimentId, at, JSON.stringify(analysis)]);
}

const LIST_ANALYSES = prepared(
  "experiment_looks",
  `select look, at from experiment_looks where merchant_id = $1 and experiment_id = $2 order by at desc limit $3`,
);

/** Newest first. */
export async function listInterimAnalyses<Analysis>(tx: Tx, merchantId: string, experimentId: string, limit: number) {
  type Row = { look: Omit<Analysis, "at">; at: Date };
  return (await tx.run<Row>(LIST_ANALYSES, [merchantId, experimentId, limit])).rows.map(
    ({ look, at }) => ({ ...look, at }) as Analysis,
  );
}
