// A StrykerJS runner for node:test that keeps its process, because starting one for each mutant takes longer than most tests.

import { appendFileSync, existsSync, globSync, readFileSync, writeFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { pathToFileURL } from "node:url";
import type { InstrumenterContext } from "@stryker-mutator/api/core";
import { declareClassPlugin, PluginKind } from "@stryker-mutator/api/plugin";
import {
  type DryRunResult,
  DryRunStatus,
  determineHitLimitReached,
  type MutantRunOptions,
  type MutantRunResult,
  type TestResult,
  type TestRunner,
  TestStatus,
  toMutantRunResult,
} from "@stryker-mutator/api/test-runner";
import { importTests, type ReusableFile, type ReusableTest, runReusable } from "./reusable-tests.ts";

/** The variable with `run.ts`'s input for its runners, as JSON. */
export const MUTANTS_RUN = "DUNLIN_MUTANTS_RUN";
export interface MutantsRun {
  /** Patterns of the test files. */
  tests: readonly string[];
  /** The file that stores the duration of each test. */
  durations: string;
  /** A mutant that survives for so many milliseconds of tests counts as survived. */
  patienceMs: number;
}

const runnerInput = JSON.parse(process.env[MUTANTS_RUN] ?? "null") as MutantsRun | null;
const realm = globalThis as { __stryker__?: InstrumenterContext };
realm.__stryker__ ??= {};
const stryker = realm.__stryker__;

/** The overhead of a test file: an import, and mostly a database. */
const TEST_FILE_MS = 100;
const REUSABLE_TESTS_URL = new URL("reusable-tests.ts", import.meta.url).href;
/** A fixture's resources, such as a database, end with the test file that imported it, so the fixture is also imported again. */
const IS_FIXTURE = /\.fixture\.ts$/;

class MutantRunner implements TestRunner {
  readonly #files = new Map<string, ReusableFile>();
  #imports = 0;

  capabilities() {
    return { reloadEnvironment: false };
  }

  init() {
    registerHooks({
      resolve(specifier, context, next) {
        if (specifier === "node:test") return { url: REUSABLE_TESTS_URL, shortCircuit: true };
        const resolved = next(specifier, context);
        const { search } = new URL(context.parentURL ?? "file:///");
        return IS_FIXTURE.test(resolved.url) ? { ...resolved, url: resolved.url + search } : resolved;
      },
    });
    // An unhandled rejection fails the test in which it occurs.
    for (const event of ["unhandledRejection", "uncaughtException"]) process.on(event, (error) => this.#fail(error));
    return Promise.resolve();
  }

  #fail: (error: unknown) => void = () => {};

  async dryRun(): Promise<DryRunResult> {
    stryker.activeMutant = undefined;
    const result = await this.#run(undefined, true);
    if (result.status !== DryRunStatus.Complete) return result;
    const durations = Object.fromEntries(result.tests.map(({ id, timeSpentMs }) => [id, timeSpentMs]));
    if (runnerInput) writeFileSync(runnerInput.durations, JSON.stringify(durations));
    const mutantCoverage = stryker.mutantCoverage!;
    // A test that fails without a mutant, such as one that needs its own process, kills none.
    const tests = result.tests.map((test): TestResult => {
      if (test.status !== TestStatus.Failed) return test;
      console.error(`left out, for it fails in a shared process: ${test.id}`);
      delete mutantCoverage.perTest[test.id];
      return { ...test, status: TestStatus.Skipped };
    });
    return { ...result, tests, mutantCoverage };
  }

  async mutantRun(options: MutantRunOptions): Promise<MutantRunResult> {
    const { activeMutant, mutantActivation, testFilter, disableBail, hitLimit } = options;
    stryker.hitLimit = hitLimit;
    stryker.hitCount = hitLimit ? 0 : undefined;
    const activate = () => {
      stryker.activeMutant = activeMutant.id;
      process.env.__STRYKER_ACTIVE_MUTANT__ = activeMutant.id; // for workers and processes of the tests
    };
    if (mutantActivation === "static") activate();
    else stryker.activeMutant = undefined;
    try {
      const result = await this.#run(testFilter && new Set(testFilter), disableBail, activate);
      return toMutantRunResult(determineHitLimitReached(stryker.hitCount, hitLimit) ?? result);
    } finally {
      stryker.activeMutant = undefined;
      delete process.env.__STRYKER_ACTIVE_MUTANT__;
    }
  }

  /** @param activate  called when the test files are loaded */
  async #run(filter: Set<string> | undefined, keepsOn: boolean, activate = () => {}): Promise<DryRunResult> {
    const tests: TestResult[] = [];
    const begunAt = performance.now();
    try {
      for (const path of pathsOf(filter)) {
        // The tests with the most kills have run by now; the others hardly kill a mutant that they missed.
        if (!keepsOn && performance.now() - begunAt > runnerInput!.patienceMs) break;
        const file = this.#files.get(path) ?? (await this.#load(path).catch((error: unknown) => error));
        // The first test that loads the code detects a mutant that breaks loading.
        if (!isLoaded(file)) {
          if (keepsOn) throw file;
          tests.push({
            id: path,
            name: path,
            timeSpentMs: 0,
            status: TestStatus.Failed,
            failureMessage: messageOf(file),
          });
          break;
        }
        const { tests: all, hasHooks } = file;
        if (hasHooks) this.#files.delete(path);
        const named = all.map((test, index) => ({ test, id: idOf(path, all, index) }));
        const asked = named.filter(({ test, id }) => !test.isSkipped && (filter?.has(id) ?? true));
        const ids = new Map(asked.map(({ test, id }) => [test, id]));
        activate();
        const isGreen = await this.#runFile(path, ids, keepsOn, tests);
        if (isGreen || keepsOn) continue;
        recordKill(path);
        break;
      }
      return { status: DryRunStatus.Complete, tests };
    } catch (error) {
      return { status: DryRunStatus.Error, errorMessage: String(error instanceof Error ? error.stack : error) };
    }
  }

  async #load(path: string) {
    const file = await importTests(`${pathToFileURL(path).href}?import=${++this.#imports}`);
    this.#files.set(path, file);
    return file;
  }

  async #runFile(path: string, ids: ReadonlyMap<ReusableTest, string>, keepsOn: boolean, results: TestResult[]) {
    let isGreen = true;
    let begun = 0;
    let stray: unknown;
    this.#fail = (error) => {
      stray ??= error;
    };
    await runReusable(
      [...ids.keys()],
      (test) => timeLimitOf(ids.get(test)!),
      (test) => {
        begun = performance.now();
        stray = undefined;
        stryker.currentTestId = ids.get(test);
      },
      (test, thrown) => {
        const error = thrown ?? stray;
        const base = {
          id: ids.get(test)!,
          name: ids.get(test)!,
          timeSpentMs: performance.now() - begun,
          fileName: path,
        };
        if (error === undefined) results.push({ ...base, status: TestStatus.Success });
        else results.push({ ...base, status: TestStatus.Failed, failureMessage: messageOf(error) });
        isGreen &&= error === undefined;
        return isGreen || keepsOn;
      },
    );
    stryker.currentTestId = undefined;
    return isGreen;
  }
}

let knownDurations: Record<string, number> | undefined;

/** Returns the time limit of a test in milliseconds: much longer than without a mutant. */
function timeLimitOf(id: string): number {
  if (knownDurations === undefined && existsSync(runnerInput!.durations))
    knownDurations = JSON.parse(readFileSync(runnerInput!.durations, "utf8")) as Record<string, number>;
  const usualMs = knownDurations?.[id];
  return usualMs === undefined ? 120_000 : 3_000 + 8 * usualMs;
}

const messageOf = (error: unknown) => (error instanceof Error ? (error.stack ?? error.message) : String(error));

const isLoaded = (file: unknown): file is ReusableFile =>
  typeof file === "object" && file !== null && "hasHooks" in file;

/** Two tests of a file can have the same name. */
function idOf(path: string, all: readonly ReusableTest[], index: number): string {
  const { name } = all[index]!;
  const before = all.slice(0, index).filter((test) => test.name === name).length;
  return `${path}: ${name}${before > 0 ? ` (${before + 1})` : ""}`;
}

/** The test file that killed each mutant. All runners append lines, because concurrent rewrites would corrupt the file. */
const killsPath = () => `${runnerInput!.durations}.kills`;
const recordKill = (path: string) => appendFileSync(killsPath(), `${path}\n`);

/** Returns how many mutants each test file has killed. */
function readKills(): ReadonlyMap<string, number> {
  const kills = new Map<string, number>();
  if (!existsSync(killsPath())) return kills;
  for (const path of readFileSync(killsPath(), "utf8").split("\n")) kills.set(path, (kills.get(path) ?? 0) + 1);
  return kills;
}

/** Returns the test files, those with the most kills per time first. */
function pathsOf(filter: Set<string> | undefined): string[] {
  const without = runnerInput!.tests.filter((pattern) => pattern.startsWith("!")).map((pattern) => pattern.slice(1));
  const paths = globSync(
    runnerInput!.tests.filter((pattern) => !pattern.startsWith("!")),
    { exclude: without },
  ).sort();
  // No durations: this is the run without a mutant. No filter: code that runs when a module is imported concerns all tests.
  if (!existsSync(runnerInput!.durations)) return paths;
  const durations = JSON.parse(readFileSync(runnerInput!.durations, "utf8")) as Record<string, number>;
  const costs = new Map<string, number>();
  for (const id of filter ?? Object.keys(durations)) {
    const path = paths.find((each) => id.startsWith(`${each}: `));
    if (path !== undefined) costs.set(path, (costs.get(path) ?? 0) + (durations[id] ?? 0));
  }
  const kills = readKills();
  const rate = ([path, cost]: [string, number]) => ((kills.get(path) ?? 0) + 1) / (cost + TEST_FILE_MS);
  return [...costs].sort((a, b) => rate(b) - rate(a)).map(([path]) => path);
}

export const strykerPlugins = [declareClassPlugin(PluginKind.TestRunner, "hot", MutantRunner)];
