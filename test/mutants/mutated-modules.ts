/** What is mutated, and the tests that must see it. Patterns are relative to the project. */
export interface MutatedModule {
  mutate: readonly string[];
  tests: readonly string[];
}

const sources = (folder: string) => [`${folder}/**/*.ts`, `!${folder}/**/*.test.ts`, `!${folder}/**/*.fixture.ts`];
const testsOf = (...folders: string[]) => folders.map((folder) => `${folder}/**/*.test.ts`);
const filesOf = (folder: string, ...names: string[]) => names.map((name) => `${folder}/${name}.ts`);

/** The rooms that decide about money, and the pure ones. */
export const MUTATED_MODULES: Readonly<Record<string, MutatedModule>> = {
  rules: { mutate: sources("src/rules"), tests: testsOf("src/rules") },
  decisions: { mutate: sources("src/decisions"), tests: testsOf("src/decisions") },
  recovery: {
    mutate: filesOf(
      "src/recovery",
      "balance",
      "disputes",
      "ends",
      "ingest",
      "ingest-invoices",
      "open-cases",
      "outcome",
      "payment-facts",
      "replay",
      "review",
      "step",
    ),
    // Those of words, learning and shadow mode take most of the time, and look at other things.
    tests: [
      ...testsOf("src/recovery"),
      "!src/recovery/{backtest,expla,join-flushes,learn,merchants,models,shadow-job,shadow-words,shadow.,views}*.test.ts",
    ],
  },
  delivery: {
    mutate: filesOf("src/delivery", "endpoint-health", "lane", "lane-timers", "leases", "recorder", "schedule"),
    tests: ["src/delivery/*.test.ts"],
  },
  experiments: { mutate: sources("src/experiments"), tests: testsOf("src/experiments") },
  // Much of it is looked at through the pages by which people come in.
  auth: {
    mutate: sources("src/auth"),
    tests: [...testsOf("src/auth", "src/console/people", "src/console/org"), "src/cli/key-commands.test.ts"],
  },
  sdk: {
    mutate: [
      ...filesOf("sdk/src/webhooks", "receiver", "event-store", "worker"),
      ...filesOf("sdk/src/client", "sync", "ingest", "pace"),
    ],
    tests: testsOf("sdk/src"),
  },
};
