import type {
  Arm,
  ArmHalf,
  CellTotals,
  Experiment,
  ExperimentCell,
  Measure,
  Phase,
} from "../../src/domain/experiment.ts";
import type { Merchant } from "../../src/domain/merchant.ts";
import type { Ports } from "../../src/domain/ports.ts";
import { tallyInvoices } from "../../src/experiments/count-mature-invoices.ts";
import { analyzeExperiment, type InterimAnalysis } from "../../src/experiments/statistics/interim-analysis.ts";
import { addTally, emptyTally } from "../../src/experiments/statistics/tally.ts";
import { type Database, prepared } from "../../src/postgres/database.ts";
import { addTallies, insertInterimAnalysis } from "../../src/tables/experiment-results.ts";
import { insertExperiment, stopExperiment } from "../../src/tables/experiments.ts";

const DAY_MS = 86_400_000;
const MATURITY_DAYS = 35;

interface ExperimentInvoice {
  invoiceId: string;
  customerId: string;
  arm: Arm;
  half: ArmHalf;
  phase: Phase;
  amount: number;
  currency: string;
  failedAt: Date;
  countsAt: Date;
  recovered: boolean;
}

/** The course of an experiment. */
interface ExperimentCourse {
  name: string;
  share: number;
  /** Days since its start, and the number of days with invoices. */
  agoDays: number;
  days: number;
  /** Customers per day. */
  daily: number;
  recovers: Record<Arm, number>;
  /** Share of Dunlin's customers that get lost on the way. */
  lost: number;
  isStopped: boolean;
}

/**
 * Fills an experiment with a sample ratio mismatch and one that runs, as if the service had analyzed them daily. `random`:
 * between 0 and 1.
 */
export async function fillExperiments(db: Database, merchant: Merchant, ports: Ports, random: () => number) {
  const recovers = { dunlin: 0.57, merchant: 0.49 };
  const off = {
    name: "Old split",
    share: 0.5,
    agoDays: 220,
    days: 60,
    daily: 30,
    recovers,
    lost: 0.4,
    isStopped: true,
  };
  await runExperiment(db, merchant, ports, random, off);
  const running = {
    name: "Dunlin or the old schedule",
    share: 0.8,
    agoDays: 84,
    days: 84,
    daily: 55,
    recovers,
    lost: 0,
    isStopped: false,
  };
  await runExperiment(db, merchant, ports, random, running);
}

async function runExperiment(
  db: Database,
  merchant: Merchant,
  ports: Ports,
  random: () => number,
  course: ExperimentCourse,
) {
  const now = ports.now();
  const startedAt = new Date(now.getTime() - course.agoDays * DAY_MS);
  const experiment: Experiment = {
    id: ports.newId(),
    name: course.name,
    salt: "s",
    share: course.share,
    startedAt,
    comparedFrom: startedAt,
    stoppedAt: null,
    maturityDays: MATURITY_DAYS,
    primary: "count",
    margin: 0.03,
  };
  await insertExperiment(db, merchant.id, experiment);
  const entries = Array.from({ length: course.days * course.daily }, (_, n) =>
    createEntry(course, startedAt, n, random),
  ).filter(({ arm }) => arm === "merchant" || random() >= course.lost);
  await storeEntries(db, merchant.id, experiment.id, entries, now);
  await recordLooks(db, merchant.id, experiment, entries, now);
  if (course.isStopped) await stopExperiment(db, merchant.id, new Date(startedAt.getTime() + course.days * DAY_MS));
}

function createEntry(
  { share, daily, recovers }: ExperimentCourse,
  startedAt: Date,
  n: number,
  random: () => number,
): ExperimentInvoice {
  const arm: Arm = random() < share ? "dunlin" : "merchant";
  const failedAt = new Date(startedAt.getTime() + (n / daily) * DAY_MS);
  return {
    invoiceId: `${startedAt.getTime()}_${n}`,
    customerId: `exp_${n}`,
    arm,
    half: random() < 0.5 ? 1 : 2,
    phase: "comparison",
    amount: 900 + Math.floor(random() * 90) * 100,
    currency: random() < 0.7 ? "EUR" : "JPY",
    failedAt,
    countsAt: new Date(failedAt.getTime() + MATURITY_DAYS * DAY_MS),
    recovered: random() < recovers[arm],
  };
}

const INSERT_ENTRIES = prepared(
  "test_keep_entries",
  `insert into experiment_invoices
   select $1, $2, e.invoice_id, e.customer_id, 'comparison', e.arm, e.half, e.amount, e.currency, e.failed_at, e.counts_at, e.recovered
   from unnest($3::text[], $4::text[], $5::text[], $6::int2[], $7::int8[], $8::text[], $9::timestamptz[], $10::timestamptz[], $11::bool[])
     as e (invoice_id, customer_id, arm, half, amount, currency, failed_at, counts_at, recovered)`,
);

async function storeEntries(
  db: Database,
  merchantId: string,
  experimentId: string,
  entries: readonly ExperimentInvoice[],
  now: Date,
) {
  const column = <Value>(of: (entry: ExperimentInvoice) => Value) => entries.map(of);
  await db.run(INSERT_ENTRIES, [
    merchantId,
    experimentId,
    column(({ invoiceId }) => invoiceId),
    column(({ customerId }) => customerId),
    column(({ arm }) => arm),
    column(({ half }) => half),
    column(({ amount }) => amount),
    column(({ currency }) => currency),
    column(({ failedAt }) => failedAt),
    column(({ countsAt }) => countsAt),
    column(({ countsAt, recovered }) => (countsAt <= now ? recovered : null)),
  ]);
}

/** Analyzes day by day as the service does: adds up the matured invoices, and records the results. */
async function recordLooks(
  db: Database,
  merchantId: string,
  experiment: Experiment,
  entries: readonly ExperimentInvoice[],
  now: Date,
) {
  const sums = new Map<string, ExperimentCell & CellTotals>();
  const keyOf = ({ phase, arm, half, measure }: ExperimentCell) => `${phase} ${arm} ${half} ${measure}`;
  const at = (phase: Phase, arm: Arm, half: ArmHalf, measure: Measure) =>
    sums.get(keyOf({ phase, arm, half, measure }));
  let former: InterimAnalysis | null = null;
  const last = Math.max(...entries.map(({ countsAt }) => countsAt.getTime()));
  for (
    let day = experiment.startedAt.getTime() + DAY_MS;
    day <= Math.min(now.getTime(), last + DAY_MS);
    day += DAY_MS
  ) {
    const ripe = entries.filter(({ countsAt }) => countsAt.getTime() <= day && countsAt.getTime() > day - DAY_MS);
    for (const cell of tallyInvoices(ripe, [])) {
      const sum = sums.get(keyOf(cell)) ?? { ...cell, ...emptyTally() };
      sums.set(keyOf(cell), sum);
      addTally(sum, cell);
    }
    const waiting = entries.filter(
      ({ failedAt, countsAt }) => failedAt.getTime() <= day && countsAt.getTime() > day,
    ).length;
    const measures = [...new Set([...sums.values()].map(({ measure }) => measure))];
    former = analyzeExperiment(experiment, at, measures, waiting, former, new Date(day));
    const { at: _, ...kept } = former;
    await insertInterimAnalysis(db, merchantId, experiment.id, new Date(day), kept);
  }
  await addTallies(db, merchantId, experiment.id, [...sums.values()]);
}
