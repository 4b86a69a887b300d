/** The files that are mutated, and the tests that must kill the mutants. Patterns are relative to the project. */
export interface MutatedModule {
  mutate: readonly string[];
  tests: readonly string[];
}

const sources = (folder: string) => [`${folder}/**/*.ts`, `!${folder}/**/*.test.ts`, `!${folder}/**/*.fixture.ts`];
const testsOf = (...folders: string[]) => folders.map((folder) => `${folder}/**/*.test.ts`);
const filesOf = (folder: string, ...names: string[]) => names.map((name) => `${folder}/${name}.ts`);

/** The modules that decide about money, and the pure ones. */
export const MUTATED_MODULES: Readonly<Record<string, MutatedModule>> = {
  rules: { mutate: sources("src/engine/rules"), tests: testsOf("src/engine/rules") },
  decisions: { mutate: sources("src/engine"), tests: testsOf("src/engine") },
  recovery: {
    mutate: [
      ...filesOf("src/recovery", "balance", "disputed-card", "ends", "open-cases", "outcome", "payment-facts"),
      ...filesOf("src/recovery", "review-invoices", "step"),
      ...filesOf("src/ingest", "ingest", "ingest-invoices"),
      "src/merchants/replay.ts",
    ],
    tests: testsOf("src/recovery", "src/ingest", "src/merchants"),
  },
  delivery: {
    mutate: filesOf(
      "src/delivery",
      ...["endpoint-health", "merchant-lane", "lane-timers", "leases", "attempt-recorder", "attempt-schedule"],
    ),
    tests: ["src/delivery/*.test.ts"],
  },
  experiments: { mutate: sources("src/experiments"), tests: testsOf("src/experiments") },
  // Much of it is tested through the sign-in pages.
  auth: {
    mutate: sources("src/auth"),
    tests: [...testsOf("src/auth", "src/console/people", "src/console/org"), "src/cli/key-commands.test.ts"],
  },
  sdk: {
    mutate: [
      ...filesOf("sdk/src/webhooks", "receiver", "event-store", "event-worker"),
      ...filesOf("sdk/src/client", "sync", "ingest", "request-pacer"),
    ],
    tests: testsOf("sdk/src"),
  },
};
