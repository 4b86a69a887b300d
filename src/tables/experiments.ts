import type { Experiment } from "../domain/experiment.ts";
import { type Column, selectList } from "../postgres/batch-sql.ts";
import { prepared, type Tx } from "../postgres/database.ts";

const COLUMNS: readonly Column<Experiment>[] = [
  ["id", "uuid", "id"],
  ["name", "text", "name"],
  ["salt", "text", "salt"],
  ["share", "float8", "share"],
  ["started_at", "timestamptz", "startedAt"],
  ["compared_from", "timestamptz", "comparedFrom"],
  ["stopped_at", "timestamptz", "stoppedAt"],
  ["maturity_days", "int4", "maturityDays"],
  ["primary_measure", "text", "primary"],
  ["margin", "float8", "margin"],
];
const SELECT = `select ${selectList(COLUMNS)} from experiments`;

const INSERT = prepared(
  "insert_experiment",
  `insert into experiments (merchant_id, look_at, ${COLUMNS.map(([name]) => name).join(", ")})
   values ($1, $2, ${COLUMNS.map((_, index) => `$${index + 3}`).join(", ")})
   on conflict (merchant_id) where stopped_at is null do nothing`,
);

/** False if the merchant has a running experiment. */
export async function insertExperiment(tx: Tx, merchantId: string, experiment: Experiment): Promise<boolean> {
  const values = COLUMNS.map(([, , field]) => experiment[field]);
  return (await tx.run(INSERT, [merchantId, experiment.startedAt, ...values])).rowCount === 1;
}

const RUNNING = prepared("running_experiment", `${SELECT} where merchant_id = $1 and stopped_at is null`);

export async function runningExperiment(tx: Tx, merchantId: string) {
  return (await tx.run<Experiment>(RUNNING, [merchantId])).rows[0] ?? null;
}

const LIST = prepared("list_experiments", `${SELECT} where merchant_id = $1 order by started_at desc, id desc`);

/** Newest first. */
export async function listExperiments(tx: Tx, merchantId: string) {
  return (await tx.run<Experiment>(LIST, [merchantId])).rows;
}

const STOP = prepared(
  "stop_experiment",
  `update experiments set stopped_at = $2 where merchant_id = $1 and stopped_at is null returning ${selectList(COLUMNS)}`,
);

export async function stopExperiment(tx: Tx, merchantId: string, now: Date) {
  return (await tx.run<Experiment>(STOP, [merchantId, now])).rows[0] ?? null;
}

export interface DueExperiment {
  merchantId: string;
  id: string;
  nextAnalysisAt: Date;
}

const DUE_EXPERIMENTS = prepared(
  "experiments_to_count",
  `select merchant_id as "merchantId", id, look_at as "nextAnalysisAt" from experiments where look_at is not null order by look_at`,
);

/** Earliest first. */
export async function dueExperiments(tx: Tx) {
  return (await tx.run<DueExperiment>(DUE_EXPERIMENTS)).rows;
}

const LOCK_DUE = prepared(
  "hold_experiment",
  `${SELECT} where merchant_id = $1 and id = $2 and look_at <= $3 for update`,
);

export async function lockDueExperiment(tx: Tx, merchantId: string, id: string, now: Date) {
  return (await tx.run<Experiment>(LOCK_DUE, [merchantId, id, now])).rows[0] ?? null;
}

const RESCHEDULE = prepared(
  "move_experiment",
  "update experiments set look_at = $3 where merchant_id = $1 and id = $2",
);

/** @param nextAnalysisAt  null: never */
export async function rescheduleExperiment(tx: Tx, merchantId: string, id: string, nextAnalysisAt: Date | null) {
  await tx.run(RESCHEDULE, [merchantId, id, nextAnalysisAt]);
}
