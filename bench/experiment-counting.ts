import type { Experiment } from "../src/domain/experiment.ts";
import { COMMAND_LINE_ACTOR } from "../src/domain/person.ts";
import { countMatureInvoices } from "../src/experiments/count-mature-invoices.ts";
import { startExperiment } from "../src/experiments/experiments.ts";
import type { InterimAnalysis } from "../src/experiments/statistics/interim-analysis.ts";
import { createMerchant } from "../src/merchants/merchant-settings.ts";
import { type Database, prepared } from "../src/postgres/database.ts";
import { openStore } from "../src/process/open-store.ts";
import { listInterimAnalyses } from "../src/tables/experiment-results.ts";
import { createScratchSettings } from "./scratch-database.ts";

// Three in four customers have one invoice, the others two; 55% are paid. All failed 100 days ago.
const FILL = prepared(
  "bench_fill_experiment",
  `with n as materialized (
     select g, 'cus_' || case when g % 5 = 0 then g - 1 else g end as customer, g::int8 * 7919 % 100 < 55 as paid,
       500 + g::int8 * 104729 % 9000 as amount, $3::timestamptz - interval '100 d' + g * interval '1 ms' as at
     from generate_series(1, $4) g),
   i as (
     insert into invoices (merchant_id, id, state, customer_id, amount, currency, created_at, updated_at)
     select $1::uuid, 'inv_' || g, case when paid then 'PAID' else 'UNPAID' end, customer, amount, 'EUR', at, at from n),
   c as (
     insert into cases (merchant_id, id, invoice_id, customer_id, amount, currency, unpaid_at, window_ends_at, budget, opened_at, ended_at, end_reason)
     select $1::uuid, gen_random_uuid(), 'inv_' || g, customer, amount, 'EUR', at, at + interval '28 d', 8, at, at + interval '28 d',
       case when paid then 'paid' else 'window_over' end from n)
   insert into experiment_invoices
     (merchant_id, experiment_id, invoice_id, customer_id, phase, arm, half, amount, currency, failed_at, counts_at)
   select $1::uuid, $2::uuid, 'inv_' || g, customer, 'comparison', case when hashtext(customer) % 2 = 0 then 'dunlin' else 'merchant' end,
     1 + abs(hashtext(customer) / 2 % 2), amount, 'EUR', at, at + interval '35 d' from n`,
);
const ANALYZE = prepared("bench_analyze", "analyze");

const SHOW_COUNT = 200;

export async function benchExperimentCounting(cases: number) {
  const { settings, log, remove } = await createScratchSettings();
  const store = await openStore(settings, "own", 5, log, (error) => {
    throw error;
  });
  try {
    const { db, owner, ports, secretKeys } = store;
    const merchant = await createMerchant(db, "Bench", {}, secretKeys, ports);
    const experiment = (await startExperiment(
      db,
      merchant.id,
      { name: "bench" },
      COMMAND_LINE_ACTOR,
      ports,
    )) as Experiment;
    await (await db.connect()).run(FILL, [merchant.id, experiment.id, ports.now(), cases]);
    // Other roles may not, and PostgreSQL only warns them.
    await owner.run(ANALYZE);
    const started = ports.monotonicMs();
    const { counted } = await countMatureInvoices({ db, ports, log });
    const seconds = (ports.monotonicMs() - started) / 1000;
    const show = await measureShowMs(db, ports.monotonicMs, merchant.id, experiment.id);
    return { counted, seconds, ...show };
  } finally {
    await store.close();
    await remove();
  }
}

async function measureShowMs(db: Database, monotonicMs: () => number, merchantId: string, experimentId: string) {
  const times: number[] = [];
  let verdict = "";
  for (let n = 0; n < SHOW_COUNT; n++) {
    const from = monotonicMs();
    const [look] = await listInterimAnalyses<InterimAnalysis>(db, merchantId, experimentId, 1);
    times.push(monotonicMs() - from);
    verdict = look!.verdict.words;
  }
  times.sort((a, b) => a - b);
  return { showMs: times[SHOW_COUNT / 2]!, verdict };
}
