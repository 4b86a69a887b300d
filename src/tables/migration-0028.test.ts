import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import pino from "pino";
import { createTestDatabase } from "../../test/database.ts";
import { testClock, testMerchant, testPorts } from "../api/api.fixture.ts";
import type { Arm, Experiment } from "../domain/experiment.ts";
import { COMMAND_LINE_ACTOR } from "../domain/person.ts";
import { countMatureInvoices } from "../experiments/count-mature-invoices.ts";
import { startExperiment, stopRunningExperiment } from "../experiments/experiments.ts";
import type { InterimAnalysis } from "../experiments/statistics/interim-analysis.ts";
import { prepared } from "../postgres/database.ts";
import { addTallies, insertInterimAnalysis, listInterimAnalyses } from "./experiment-results.ts";
import { dueExperiments, rescheduleExperiment } from "./experiments.ts";

const DAY_MS = 86_400_000;
const MIGRATION = new URL("../../migrations/0028_spoiled_looks.sql", import.meta.url);

test("interim analyses without numeric ranges say so, and their experiments are analyzed again, even finished ones", async (t) => {
  const { db, drop } = await createTestDatabase();
  t.after(drop);
  const clock = testClock();
  const ports = testPorts(clock);
  const merchant = await testMerchant(db, ports);
  const experiment = (await db.transaction((tx) =>
    startExperiment(tx, merchant.id, { name: "old" }, COMMAND_LINE_ACTOR, ports),
  )) as Experiment;
  const { startedAt } = experiment;
  for (const [arm, got] of [
    ["dunlin", 280],
    ["merchant", 200],
  ] as const) {
    const sums = { customers: 400, due: 400, got, dueDue: 400, dueGot: got, gotGot: got };
    await addTallies(db, merchant.id, experiment.id, [
      { phase: "comparison", arm, half: 1, measure: "count", ...sums },
    ]);
  }
  // As the first version stored them: no number, then derived values, and finally one known bound.
  const old = (outcome: string, lower: number | null, upper: number | null) => ({
    invoices: { counted: 240, waiting: 0 },
    comparisons: [
      { measure: "count", difference: 0.1, variance: 0.001, lower, upper },
      { measure: "EUR", difference: 0.1, variance: 0.001, lower: -0.3, upper: 0.4 },
    ],
    troubles: [],
    verdict: { outcome, words: outcome, weeksMore: null },
  });
  const looks = [
    old("open", -0.4, 0.5),
    old("void", 0, 0),
    old("open", Number.NaN, Number.NaN),
    old("moving", 0, -0.01),
  ];
  for (const [index, look] of looks.entries())
    await insertInterimAnalysis(db, merchant.id, experiment.id, new Date(+startedAt + index * DAY_MS), look);
  await db.transaction((tx) => stopRunningExperiment(tx, merchant.id, COMMAND_LINE_ACTOR, ports));
  await rescheduleExperiment(db, merchant.id, experiment.id, null);

  await db.run(prepared("", await readFile(MIGRATION, "utf8")));
  const mended = (await listInterimAnalyses<InterimAnalysis>(db, merchant.id, experiment.id, 10)).toReversed();
  assert.deepEqual(
    mended.map(({ verdict, comparisons: [count] }) => [verdict.outcome, count!.lower, count!.upper]),
    [
      ["open", -0.4, 0.5],
      ["void", -1, 1],
      ["open", -1, 1],
      ["open", -1, -0.01],
    ],
  );
  assert.match(mended[2]!.verdict.words, /had no range/);
  for (const { comparisons } of mended) assert.deepEqual([comparisons[1]!.lower, comparisons[1]!.upper], [-0.3, 0.4]);

  clock.serviceMs += 50 * DAY_MS;
  const { nextAnalysisAt } = await countMatureInvoices({ db, ports, log: pino({ level: "silent" }) });
  assert.equal(nextAnalysisAt, null, "it has ended, as before");
  const [newest] = await listInterimAnalyses<InterimAnalysis>(db, merchant.id, experiment.id, 1);
  assert.equal(newest!.verdict.outcome, "better");
  assert.match(newest!.verdict.words, /\d+\.\d to \d\d\.\d more per 100 failed invoices\.$/);
});

test("the first version's last analysis of an experiment is repeated once, and current analyses do not change", async (t) => {
  const { db, drop } = await createTestDatabase();
  t.after(drop);
  const clock = testClock();
  const ports = testPorts(clock);
  const finished = async (customers: Record<Arm, [number, number]>, ...looks: object[]) => {
    const merchant = await testMerchant(db, ports);
    const name = { name: "finished", share: 0.9 };
    const { id, startedAt } = (await db.transaction((tx) =>
      startExperiment(tx, merchant.id, name, COMMAND_LINE_ACTOR, ports),
    )) as Experiment;
    for (const [arm, [due, got]] of Object.entries(customers)) {
      const sums = { customers: due, due, got, dueDue: due, dueGot: got, gotGot: got };
      const cell = { phase: "comparison", arm: arm as Arm, half: 1, measure: "count" } as const;
      await addTallies(db, merchant.id, id, [{ ...cell, ...sums }]);
    }
    for (const [index, look] of looks.entries())
      await insertInterimAnalysis(db, merchant.id, id, new Date(+startedAt + index * DAY_MS), look);
    await db.transaction((tx) => stopRunningExperiment(tx, merchant.id, COMMAND_LINE_ACTOR, ports));
    await rescheduleExperiment(db, merchant.id, id, null);
    return { merchantId: merchant.id, id };
  };
  const said = (lower: number, upper: number, more: object = {}) => ({
    invoices: { counted: 1200, waiting: 0 },
    comparisons: [{ measure: "count", difference: 0.026, variance: 0.00002, lower, upper }],
    troubles: [],
    verdict: { outcome: "better", words: "better", weeksMore: null },
    ...more,
  });
  const rare = { dunlin: [1080, 28], merchant: [120, 0] } satisfies Record<Arm, [number, number]>;
  const old = await finished(rare, said(0.011, 0.041), said(0.01, 0.042));
  const today = { method: 2 };
  const ours = await finished(rare, said(0.011, 0.041), said(0, 0.042, today));
  const none = await finished(rare);

  await db.run(prepared("", await readFile(MIGRATION, "utf8")));
  assert.deepEqual(
    (await dueExperiments(db)).map(({ id }) => id),
    [old.id],
  );
  const [kept] = await listInterimAnalyses<InterimAnalysis>(db, ours.merchantId, ours.id, 1);
  assert.deepEqual([kept!.comparisons[0]!.lower, kept!.verdict.outcome], [0, "better"]);
  assert.deepEqual(await listInterimAnalyses<InterimAnalysis>(db, none.merchantId, none.id, 1), []);

  clock.serviceMs += 50 * DAY_MS;
  assert.equal((await countMatureInvoices({ db, ports, log: pino({ level: "silent" }) })).nextAnalysisAt, null, "once");
  const [newest] = await listInterimAnalyses<InterimAnalysis>(db, old.merchantId, old.id, 1);
  assert.equal(newest!.verdict.outcome, "open");
  assert.match(newest!.verdict.words, /between 3\.5 fewer and 8\.7 more per .* No more invoices come in/);
});
