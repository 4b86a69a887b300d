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
import { analyzeExperiment, type InterimAnalysis } from "./statistics/interim-analysis.ts";
import { countCustomer, emptyTally } from "./statistics/tally.ts";

const INVOICES_PER_BATCH = 1000;

interface MatureInvoiceCounting {
  db: Database;
  ports: Ports;
  log: Log;
}

/**
 * Count the invoices that are old enough, and look at the results of each experiment once a day.
 *
 * @returns how many invoices were counted, and when the next experiment is due (null: none)
 */
export async function countMatureInvoices({
  db,
  ports,
  log,
}: MatureInvoiceCounting): Promise<{ counted: number; nextLookAt: Date | null }> {
  let counted = 0;
  for (const { merchantId, id, nextAnalysisAt: dueAt } of await dueExperiments(db)) {
    if (dueAt > ports.now()) return { counted, nextLookAt: dueAt };
    try {
      for (let taken = INVOICES_PER_BATCH; taken === INVOICES_PER_BATCH; counted += taken) {
        const done = await db.transaction((tx) => countBatch(tx, merchantId, id, ports.now()));
        taken = done.taken;
        if (done.look)
          log.info({ merchantId, experimentId: id, outcome: done.look.verdict.outcome }, "experiment.looked_at");
      }
    } catch (error) {
      // The others are none the worse for it.
      log.error({ ...errorFields(error), merchantId, experimentId: id }, "count.failed");
    }
  }
  const [first] = await dueExperiments(db);
  return { counted, nextLookAt: first?.nextAnalysisAt ?? null };
}

/** A batch of invoices; the look follows when there are no more. */
async function countBatch(
  tx: Tx,
  merchantId: string,
  id: string,
  now: Date,
): Promise<{ taken: number; look: InterimAnalysis | null }> {
  const experiment = await lockDueExperiment(tx, merchantId, id, now);
  if (!experiment) return { taken: 0, look: null };
  const ripe = await matureInvoices(tx, merchantId, id, now, INVOICES_PER_BATCH);
  if (ripe.length > 0) {
    const customers = [...new Set(ripe.map(({ customerId }) => customerId))];
    const more = tallyInvoices(ripe, await customerSums(tx, merchantId, id, customers));
    await markCounted(tx, merchantId, id, ripe);
    await addTallies(tx, merchantId, id, more);
  }
  if (ripe.length === INVOICES_PER_BATCH) return { taken: ripe.length, look: null };
  const { waiting, compared } = await countImmatureInvoices(tx, merchantId, id);
  const look = await computeLook(tx, merchantId, experiment, compared, now);
  const { at, ...kept } = look;
  await insertInterimAnalysis(tx, merchantId, id, at, kept);
  // A batch that was on its way in when the experiment was stopped has long arrived a day later.
  const isOver = experiment.stoppedAt !== null && +now - +experiment.stoppedAt > DAY_MS && waiting === 0;
  await rescheduleExperiment(tx, merchantId, id, isOver ? null : new Date(now.getTime() + DAY_MS));
  return { taken: ripe.length, look };
}

/** What the results say at this moment. `waiting`: invoices of the comparison that are too young to count. */
async function computeLook(
  tx: Tx,
  merchantId: string,
  experiment: Experiment,
  waiting: number,
  now: Date,
): Promise<InterimAnalysis> {
  const tallies = await talliesOf(tx, merchantId, experiment.id);
  const [former = null] = await listInterimAnalyses<InterimAnalysis>(tx, merchantId, experiment.id, 1);
  const byCell = new Map(tallies.map((tally) => [cellKey(tally), tally]));
  return analyzeExperiment(
    experiment,
    (phase, arm, half, measure) => byCell.get(cellKey({ phase, arm, half, measure })),
    tallies.map(({ measure }) => measure),
    waiting,
    former,
    now,
  );
}

type CellId = Pick<CellTally, "phase" | "arm" | "half" | "measure">;
const cellKey = ({ phase, arm, half, measure }: CellId) => `${phase} ${arm} ${half} ${measure}`;

/** What these invoices add to the cells, by what is counted of their customers already. */
export function tallyInvoices(ripe: readonly MatureInvoice[], counted: readonly CustomerSums[]): CellTally[] {
  // Of each customer, phase and measure: failed and recovered by now.
  const sums = new Map<string, { due: number; got: number }>();
  const sumsOf = (customerId: string, phase: string, measure: Measure) => {
    const key = `${phase} ${measure} ${customerId}`;
    let found = sums.get(key);
    if (!found) {
      found = { due: 0, got: 0 };
      sums.set(key, found);
    }
    return found;
  };
  for (const { customerId, phase, currency, invoices, recovered, amount, recoveredAmount } of counted) {
    const count = sumsOf(customerId, phase, COUNT_MEASURE);
    count.due += invoices;
    count.got += recovered;
    Object.assign(sumsOf(customerId, phase, currency), { due: amount, got: recoveredAmount });
  }
  const cells = new Map<string, CellTally>();
  for (const { customerId, phase, arm, half, amount, currency, recovered } of ripe)
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
