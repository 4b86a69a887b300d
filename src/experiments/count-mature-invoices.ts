import type { Logger as Log } from "pino";
import { DAY_MS } from "../domain/durations.ts";
import { COUNT_MEASURE, type Experiment, type Measure } from "../domain/experiment.ts";
import type { Ports } from "../domain/ports.ts";
import type { Database, Tx } from "../postgres/database.ts";
import { errorFields } from "../postgres/database-errors.ts";
import {
  type CustomerSums,
  countImmatureInvoices,
  customerSums,
  type MatureInvoice,
  markCounted,
  matureInvoices,
} from "../tables/experiment-invoices.ts";
import {
  addTallies,
  type CellTally,
  insertInterimAnalysis,
  listInterimAnalyses,
  talliesOf,
} from "../tables/experiment-results.ts";
import { dueExperiments, lockDueExperiment, rescheduleExperiment } from "../tables/experiments.ts";
import type { TallyLookup } from "./statistics/arm-checks.ts";
import { analyzeExperiment, type InterimAnalysis } from "./statistics/interim-analysis.ts";
import { countCustomer, emptyTally } from "./statistics/tally.ts";

const INVOICES_PER_BATCH = 1000;

interface MatureInvoiceCounting {
  db: Database;
  ports: Ports;
  log: Log;
}

/** Counts mature invoices, and analyzes each experiment once a day. `nextAnalysisAt` is null if no experiment is due. */
export async function countMatureInvoices({
  db,
  ports,
  log,
}: MatureInvoiceCounting): Promise<{ counted: number; nextAnalysisAt: Date | null }> {
  let counted = 0;
  for (const { merchantId, id, nextAnalysisAt: dueAt } of await dueExperiments(db)) {
    if (dueAt > ports.now()) return { counted, nextAnalysisAt: dueAt };
    try {
      for (let batchSize = INVOICES_PER_BATCH; batchSize === INVOICES_PER_BATCH; counted += batchSize) {
        const batch = await db.transaction((tx) => countBatch(tx, merchantId, id, ports.now()));
        batchSize = batch.size;
        if (batch.analysis)
          log.info({ merchantId, experimentId: id, outcome: batch.analysis.verdict.outcome }, "experiment.looked_at");
      }
    } catch (error) {
      // One failing experiment must not stop the others.
      log.error({ ...errorFields(error), merchantId, experimentId: id }, "count.failed");
    }
  }
  const [next] = await dueExperiments(db);
  return { counted, nextAnalysisAt: next?.nextAnalysisAt ?? null };
}

async function countBatch(
  tx: Tx,
  merchantId: string,
  id: string,
  now: Date,
): Promise<{ size: number; analysis: InterimAnalysis | null }> {
  const experiment = await lockDueExperiment(tx, merchantId, id, now);
  if (!experiment) return { size: 0, analysis: null };
  const mature = await matureInvoices(tx, merchantId, id, now, INVOICES_PER_BATCH);
  if (mature.length > 0) {
    const customers = [...new Set(mature.map(({ customerId }) => customerId))];
    const tallies = tallyInvoices(mature, await customerSums(tx, merchantId, id, customers));
    await markCounted(tx, merchantId, id, mature);
    await addTallies(tx, merchantId, id, tallies);
  }
  if (mature.length === INVOICES_PER_BATCH) return { size: mature.length, analysis: null };
  const { waiting, compared } = await countImmatureInvoices(tx, merchantId, id);
  const analysis = await analyzeNow(tx, merchantId, experiment, compared, now);
  const { at, ...content } = analysis;
  await insertInterimAnalysis(tx, merchantId, id, at, content);
  // Requests in flight when the experiment stopped have committed a day later.
  const isOver = experiment.stoppedAt !== null && +now - +experiment.stoppedAt > DAY_MS && waiting === 0;
  await rescheduleExperiment(tx, merchantId, id, isOver ? null : new Date(now.getTime() + DAY_MS));
  return { size: mature.length, analysis };
}

/** @param waiting  immature invoices in the comparison */
async function analyzeNow(
  tx: Tx,
  merchantId: string,
  experiment: Experiment,
  waiting: number,
  now: Date,
): Promise<InterimAnalysis> {
  const tallies = await talliesOf(tx, merchantId, experiment.id);
  const [previous = null] = await listInterimAnalyses<InterimAnalysis>(tx, merchantId, experiment.id, 1);
  return analyzeExperiment(
    experiment,
    lookUpTallies(tallies),
    tallies.map(({ measure }) => measure),
    waiting,
    previous,
    now,
  );
}

export function lookUpTallies(tallies: readonly CellTally[]): TallyLookup {
  const byCell = new Map(tallies.map((tally) => [cellKey(tally), tally]));
  return (phase, arm, half, measure) => byCell.get(cellKey({ phase, arm, half, measure }));
}

type CellId = Pick<CellTally, "phase" | "arm" | "half" | "measure">;
const cellKey = ({ phase, arm, half, measure }: CellId) => `${phase} ${arm} ${half} ${measure}`;

/** Returns the changes to the cells. The sums of squares depend on what is already counted for each customer. */
export function tallyInvoices(mature: readonly MatureInvoice[], counted: readonly CustomerSums[]): CellTally[] {
  // Failed and recovered so far, by phase, measure and customer.
  const sums = new Map<string, { due: number; got: number }>();
  const sumsOf = (customerId: string, phase: string, measure: Measure) => {
    const key = `${phase} ${measure} ${customerId}`;
    let totals = sums.get(key);
    if (!totals) {
      totals = { due: 0, got: 0 };
      sums.set(key, totals);
    }
    return totals;
  };
  for (const { customerId, phase, currency, invoices, recovered, amount, recoveredAmount } of counted) {
    const count = sumsOf(customerId, phase, COUNT_MEASURE);
    count.due += invoices;
    count.got += recovered;
    Object.assign(sumsOf(customerId, phase, currency), { due: amount, got: recoveredAmount });
  }
  const cells = new Map<string, CellTally>();
  for (const { customerId, phase, arm, half, amount, currency, recovered } of mature)
    for (const [measure, value] of [
      [COUNT_MEASURE, 1],
      [currency, amount],
    ] as const) {
      const cell = { phase, arm, half, measure };
      const tally = cells.get(cellKey(cell)) ?? { ...cell, ...emptyTally() };
      cells.set(cellKey(cell), tally);
      const sum = sumsOf(customerId, phase, measure);
      const got = recovered ? value : 0;
      countCustomer(tally, sum.due, sum.got, value, got);
      sum.due += value;
      sum.got += got;
    }
  return [...cells.values()];
}
