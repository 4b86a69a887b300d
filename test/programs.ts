// `npm run torture -- delivery --seconds 60`: starts one of the programs that measure or test Dunlin, with its options.
const PROGRAMS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  bench: {
    all: "../bench/run.ts",
    backup: "../bench/backup.ts",
    blocks: "../bench/decision-blocks.ts",
    capacity: "../bench/capacity/run.ts",
    console: "../bench/console/run.ts",
    decision: "../bench/decision-speed.ts",
    delivery: "../bench/delivery/run.ts",
    giant: "../bench/giant-merchant.ts",
    ingest: "../bench/steady/run.ts",
    list: "../bench/list/run.ts",
    merchants: "../bench/many-merchants.ts",
    replan: "../bench/replan.ts",
    sdk: "../bench/sdk.ts",
  },
  lab: {
    backtest: "../lab/studies/backtest.ts",
    "carry-over": "../lab/studies/carry-over.ts",
    decisions: "../lab/studies/decisions.ts",
    experiments: "../lab/studies/experiments.ts",
    foresight: "../lab/studies/foresight.ts",
    laws: "../lab/studies/world-laws.ts",
    promises: "../lab/studies/plan-calibration.ts",
    service: "./lived/run.ts",
    train: "../lab/studies/train-pretrained-model.ts",
  },
  torture: {
    process: "./faults/process.ts",
    delivery: "./faults/delivery.ts",
    operations: "./faults/operations.ts",
    stripe: "./faults/stripe.ts",
    sync: "./faults/sync.ts",
  },
  proof: {
    backfill: "./backfill.ts",
    browser: "./browser/run.ts",
    frameworks: "./frameworks/run.ts",
    fuzz: "./fuzz.ts",
    installations: "./installations.ts",
    isolation: "./isolation.ts",
    lives: "./lives.ts",
    mutants: "./mutants/run.ts",
    screenshots: "./browser/screenshots.ts",
    simulation: "./simulation/run.ts",
    worlds: "./worlds.ts",
  },
};

const [group = "", name = "", ...options] = process.argv.slice(2);
const programs = PROGRAMS[group] ?? {};
const file = programs[name];
if (file === undefined) {
  console.error(`Usage: npm run ${group} -- NAME [options]. NAME is one of ${Object.keys(programs).join(", ")}.`);
  process.exit(64);
}
process.argv.splice(1, process.argv.length - 1, file, ...options);
await import(file);
