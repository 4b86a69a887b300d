// Replaces node:test where one process runs the same tests repeatedly: node:test runs each once.
import type { TestContext } from "node:test";

type Work = (context?: unknown) => unknown;
type Hook = "before" | "after" | "beforeEach" | "afterEach";

interface SuiteScope {
  name: string;
  parent: SuiteScope | null;
  hooks: Record<Hook, Work[]>;
}

export interface ReusableTest {
  name: string;
  scope: SuiteScope;
  isSkipped: boolean;
  work: (context: TestContext) => unknown;
}

/** The tests of one file, as its import declared them. */
export interface ReusableFile {
  tests: ReusableTest[];
  /** A file with hooks holds resources such as a database, so its tests run once per import. */
  hasHooks: boolean;
}

const createScope = (parent: SuiteScope | null, name: string): SuiteScope => ({
  name,
  parent,
  hooks: { before: [], after: [], beforeEach: [], afterEach: [] },
});

let file: ReusableFile = { tests: [], hasHooks: false };
let scope = createScope(null, "");

/** Imports a file and returns the tests that it declares. Not concurrently. */
export async function importTests(url: string): Promise<ReusableFile> {
  file = { tests: [], hasHooks: false };
  scope = createScope(null, "");
  const mine = file;
  await import(url);
  return mine;
}

interface Options {
  skip?: boolean | string;
  todo?: boolean | string;
}

const optionsIn = (given: unknown[]) => (given.find((each) => typeof each === "object") ?? {}) as Options;
const workIn = (given: unknown[]) => given.find((each) => typeof each === "function") as Work | undefined;

export function test(name: string, ...given: unknown[]) {
  const { skip, todo } = optionsIn(given);
  const work = workIn(given);
  file.tests.push({
    name: fullName(scope, name),
    scope,
    isSkipped: Boolean(skip ?? todo) || work === undefined,
    work: work ?? (() => {}),
  });
}
test.skip = (name: string) => test(name, { skip: true });

export function suite(name: string, ...given: unknown[]) {
  if (optionsIn(given).skip) return;
  const outer = scope;
  scope = createScope(outer, name);
  try {
    workIn(given)?.();
  } finally {
    scope = outer;
  }
}

const createHook = (kind: Hook) => (work: Work) => {
  file.hasHooks = true;
  scope.hooks[kind].push(work);
};
export const before = createHook("before");
export const after = createHook("after");
export const beforeEach = createHook("beforeEach");
export const afterEach = createHook("afterEach");
export const describe = suite;
export const it = test;

function fullName({ name: outer, parent }: SuiteScope, name: string): string {
  return parent === null ? name : fullName(parent, `${outer} > ${name}`);
}

/** From the file to the innermost suite. */
const pathOf = (inner: SuiteScope | null): SuiteScope[] => (inner === null ? [] : [...pathOf(inner.parent), inner]);

/**
 * Runs tests of one file in order, with the hooks around them.
 *
 * @param limitMs  a test that takes longer has failed
 * @param onTest  called before each test
 * @param onEnd  receives each result; false ends the run
 */
export async function runReusable(
  tests: readonly ReusableTest[],
  limitMs: (test: ReusableTest) => number,
  onTest: (test: ReusableTest) => void,
  onEnd: (test: ReusableTest, error: unknown) => boolean,
) {
  const begun = new Set<SuiteScope>();
  try {
    for (const each of tests) {
      onTest(each);
      let error: unknown;
      try {
        const path = pathOf(each.scope);
        for (const outer of path) {
          if (begun.has(outer)) continue;
          begun.add(outer);
          for (const work of outer.hooks.before) await work();
        }
        await withTimeout(runOneTest(each, path), limitMs(each));
      } catch (thrown) {
        error = thrown ?? new Error("nothing was thrown");
      }
      if (!onEnd(each, error)) return;
    }
  } finally {
    for (const outer of [...begun].reverse())
      for (const work of outer.hooks.after) await withTimeout(Promise.resolve(work()), TEARDOWN_MS).catch(() => {});
  }
}

const TEARDOWN_MS = 5_000;

async function withTimeout<T>(work: Promise<T>, ms: number): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`not done after ${ms} ms`)), ms);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
    work.catch(() => {});
  }
}

async function runOneTest({ name, work }: ReusableTest, path: readonly SuiteScope[]) {
  const ended = new AbortController();
  const afterwards: Work[] = [];
  const context = {
    name,
    fullName: name,
    signal: ended.signal,
    after: (each: Work) => void afterwards.push(each),
    diagnostic: () => {},
    skip: () => {},
    test: async (_: string, ...given: unknown[]) => workIn(given)?.(context),
  } as unknown as TestContext;
  try {
    for (const outer of path) for (const each of outer.hooks.beforeEach) await each(context);
    await work(context);
  } finally {
    for (const each of afterwards) await each();
    for (const outer of [...path].reverse()) for (const each of outer.hooks.afterEach) await each(context);
    ended.abort();
  }
}
