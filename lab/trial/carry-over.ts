import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import type { PretrainedModel } from "../../src/engine/learned/pretrained-model.ts";
import {
  CARRY_OVER_POLICIES,
  type CarryOverPolicy,
  EXPLORING_POLICIES,
  type MerchantFigures,
  type MerchantRun,
  VARIED,
} from "./small-merchants.ts";
import type { Family } from "./train-pretrained-model.ts";

/** How policies do at small merchants of one world with one recovery window. */
export interface Cell {
  world: string;
  windowDays: number;
  /** Mean value of six even retries, as a share of the failed money. */
  even: number;
  /** By policy. */
  ahead: Record<string, { mean: number; error: number }>;
  cases: number;
  ece: Record<string, number>;
  brokenRules: number;
}

export interface CarryOverOptions {
  worlds: readonly string[];
  windows: readonly number[];
  merchants: number;
  /** Of each merchant. */
  customers: number;
  /** Runs with other samples of exploration. */
  explorations: number;
  /** @param family  undefined: nothing is left out, because no model was trained in the judged world */
  priorWithout(family: Family | undefined): PretrainedModel;
  /** Called after each cell. */
  onCell(cell: Cell): void;
}

/** Undefined: none, because each variation is drawn. */
const familyOf = (world: string) =>
  (world === VARIED ? undefined : world === "hard" ? "balances" : world) as Family | undefined;

/** Runs every policy at every merchant, in as many threads as the machine has processors. No pretrained model knows the judged family. */
export async function measureCarryOver(options: CarryOverOptions): Promise<Cell[]> {
  const pool = Array.from({ length: availableParallelism() }, startWorker);
  const waiting: ((worker: RunWorker) => void)[] = [];
  const take = async () => pool.pop() ?? (await new Promise<RunWorker>((resolve) => waiting.push(resolve)));
  const give = (worker: RunWorker) => {
    const next = waiting.shift();
    if (next) next(worker);
    else pool.push(worker);
  };
  const run = async (merchant: MerchantRun) => {
    const worker = await take();
    const figures = await worker.run(merchant);
    give(worker);
    return figures;
  };
  const cells: Cell[] = [];
  for (const world of options.worlds)
    for (const windowDays of options.windows) {
      const cell = await measureCell(world, windowDays, options, run);
      options.onCell(cell);
      cells.push(cell);
    }
  await Promise.all(pool.map((worker) => worker.end()));
  return cells;
}

async function measureCell(
  world: string,
  windowDays: number,
  { merchants, customers, explorations, priorWithout }: CarryOverOptions,
  run: (merchant: MerchantRun) => Promise<MerchantFigures>,
): Promise<Cell> {
  const prior = priorWithout(familyOf(world));
  const figuresOf = (policy: CarryOverPolicy) =>
    Promise.all(
      Array.from({ length: merchants }, (_, n) =>
        Promise.all(
          Array.from({ length: EXPLORING_POLICIES.has(policy) ? explorations : 1 }, (_, e) =>
            run({ world, windowDays, seed: n + 1, customers, policy, exploration: e === 0 ? "" : `${e}:`, prior }),
          ),
        ),
      ),
    );
  const byPolicy = new Map(
    await Promise.all(CARRY_OVER_POLICIES.map(async (policy) => [policy, await figuresOf(policy)] as const)),
  );
  const valuesOf = (policy: CarryOverPolicy) =>
    byPolicy.get(policy)!.map((runs) => mean(runs.map(({ value }) => value)));
  const even = valuesOf("even");
  const all = [...byPolicy.values()].flat(2);
  const ahead: Cell["ahead"] = {};
  const ece: Cell["ece"] = {};
  for (const policy of CARRY_OVER_POLICIES) {
    if (policy === "even") continue;
    const differences = valuesOf(policy).map((value, n) => value - even[n]!);
    ahead[policy] = { mean: mean(differences), error: standardError(differences) };
    const errors = byPolicy.get(policy)!.flatMap((runs) => runs.flatMap(({ ece }) => ece ?? []));
    if (EXPLORING_POLICIES.has(policy)) ece[policy] = mean(errors);
  }
  return {
    world,
    windowDays,
    even: mean(even),
    ahead,
    cases: all.reduce((sum, { cases }) => sum + cases, 0) / all.length,
    ece,
    brokenRules: all.reduce((sum, { brokenRules }) => sum + brokenRules, 0),
  };
}

interface RunWorker {
  run(merchant: MerchantRun): Promise<MerchantFigures>;
  end(): Promise<unknown>;
}

function startWorker(): RunWorker {
  const worker = new Worker(new URL("./carry-over-worker.ts", import.meta.url));
  let running: PromiseWithResolvers<MerchantFigures> | undefined;
  worker.on("message", (figures: MerchantFigures) => running!.resolve(figures));
  worker.on("error", (error) => {
    // Before its first run there is nobody to tell.
    if (running === undefined) throw error;
    running.reject(error);
  });
  return {
    run(merchant) {
      running = Promise.withResolvers();
      worker.postMessage(merchant);
      return running.promise;
    },
    end: () => worker.terminate(),
  };
}

const mean = (numbers: readonly number[]) => numbers.reduce((sum, each) => sum + each, 0) / numbers.length;

/** Of the mean, from the spread between merchants. */
function standardError(numbers: readonly number[]): number {
  const middle = mean(numbers);
  const squares = numbers.reduce((sum, each) => sum + (each - middle) ** 2, 0);
  return Math.sqrt(squares / Math.max(1, numbers.length - 1) / numbers.length);
}
