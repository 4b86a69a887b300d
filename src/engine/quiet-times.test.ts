import assert from "node:assert/strict";
import { suite, test } from "node:test";
import pino from "pino";
import type { QuietTimes } from "../domain/recovery-rule.ts";
import { readPretrainedModel } from "../process/pretrained-model-file.ts";
import { buildCase, buildInvoice, PAID_ON_THE_25TH, soonAfterFailure } from "./decide-learned.fixture.ts";
import { decideLearned } from "./decide-learned.ts";
import { assertRetry, buildFailedFacts, decideSoonAfterFailure, hoursAfterFailure } from "./decide-static.fixture.ts";
import { decideStatic } from "./decide-static.ts";
import { buildAccount } from "./decision-account.ts";
import { buildDecisionContext } from "./decision-context.ts";
import { fromPretrained } from "./learned/pretrained-model.ts";
import { findZone, localDay, localHour } from "./local-time.ts";
import { buildQuietGuard, describeQuietTimes } from "./quiet-times.ts";
import { decideRetryAtOnce } from "./retry-at-once.ts";

const RULE = "Your rule 3, “France”,";
const NEVER: QuietTimes = { weekdays: [], dates: [], hours: null };
const BERLIN = findZone("Europe/Berlin")!;
const rulingAt = (quiet: Partial<QuietTimes>, at: string, zone = BERLIN) =>
  buildQuietGuard({ rule: RULE, ...NEVER, ...quiet }, zone).rulingAt(Date.parse(at))?.sentence ?? null;
const quietTimes = (quiet: Partial<QuietTimes>) => ({ rule: RULE, ...NEVER, ...quiet });

suite("a quiet time", () => {
  test("holds on a weekday of the customer, from midnight to midnight", () => {
    const onSundays = (at: string) => rulingAt({ weekdays: ["SUNDAY"] }, at);
    assert.equal(onSundays("2026-04-11T21:59:59Z"), null);
    assert.equal(onSundays("2026-04-11T22:00:00Z"), `${RULE} allows no retries on Sundays.`);
    assert.notEqual(onSundays("2026-04-12T21:59:59Z"), null);
    assert.equal(onSundays("2026-04-12T22:00:00Z"), null);
  });

  test("holds on dates of each year, also across the turn of the year", () => {
    const atChristmas = (at: string) => rulingAt({ dates: ["12-24..01-01"] }, at);
    assert.equal(atChristmas("2026-12-23T12:00:00Z"), null);
    for (const day of ["2026-12-24", "2026-12-31", "2027-01-01", "2030-12-25"])
      assert.equal(atChristmas(`${day}T12:00:00Z`), `${RULE} allows no retries from 24 December to 1 January.`, day);
    assert.equal(atChristmas("2027-01-02T12:00:00Z"), null);
    assert.equal(rulingAt({ dates: ["07-14"] }, "2026-07-14T12:00:00Z"), `${RULE} allows no retries on 14 July.`);
    assert.equal(rulingAt({ dates: ["07-14"] }, "2026-07-15T12:00:00Z"), null);
  });

  test("holds once on dates with a year", () => {
    const once = (at: string) => rulingAt({ dates: ["2026-12-24..2027-01-01"] }, at);
    assert.match(once("2027-01-01T12:00:00Z")!, /from 24 December 2026 to 1 January 2027\.$/);
    assert.equal(once("2027-12-25T12:00:00Z"), null);
    assert.equal(once("2026-06-01T12:00:00Z"), null);
  });

  test("holds in hours of the customer's clock, before and after it is changed", () => {
    const atNight = (at: string) => rulingAt({ hours: { from: 22, to: 7 } }, at);
    // Clocks go forward on March 29, 2026, and back on October 25.
    assert.notEqual(atNight("2026-03-28T05:59:00Z"), null);
    assert.equal(atNight("2026-03-28T06:00:00Z"), null);
    assert.notEqual(atNight("2026-03-29T04:59:00Z"), null);
    assert.equal(atNight("2026-03-29T05:00:00Z"), null);
    assert.notEqual(atNight("2026-10-25T05:59:00Z"), null);
    assert.equal(atNight("2026-10-25T06:00:00Z"), null);
    assert.equal(atNight("2026-10-25T20:59:00Z"), null);
    assert.equal(atNight("2026-10-25T21:00:00Z"), `${RULE} allows no retries between 22:00 and 07:00.`);
  });

  test("holds in both hours that a clock shows twice, and in no hour that it skips", () => {
    const from2to3 = (at: string) => rulingAt({ hours: { from: 2, to: 3 } }, at);
    assert.deepEqual(
      ["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", "2026-10-25T02:30:00Z"].map((at) => from2to3(at) !== null),
      [true, true, false],
    );
    assert.deepEqual(
      ["2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z"].map((at) => from2to3(at) !== null),
      [false, false],
    );
  });

  test("is described with all its parts", () => {
    assert.equal(
      describeQuietTimes({ weekdays: ["SATURDAY", "SUNDAY"], dates: ["12-25"], hours: { from: 9, to: 17 } }),
      "on Saturdays and Sundays, on 25 December and between 09:00 and 17:00",
    );
  });
});

suite("the static policy", () => {
  const decide = (quiet: Partial<QuietTimes>, code = "51") =>
    assertRetry(
      decideSoonAfterFailure(buildFailedFacts({ networkDeclineCode: code }, { quietTimes: quietTimes(quiet) })),
    );

  test("plans no retry on a quiet weekday, and names the rule", () => {
    const free = assertRetry(decideSoonAfterFailure(buildFailedFacts({ networkDeclineCode: "51" })));
    const weekday = (["SUNDAY", "MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY"] as const)[
      localDay(BERLIN, +free.at).weekday
    ]!;
    const decision = decide({ weekdays: [weekday] });
    assert.notEqual(localDay(BERLIN, +decision.at).weekday, localDay(BERLIN, +free.at).weekday);
    assert.ok(
      decision.reasons.some((reason) => reason.startsWith(`${RULE} allows no retries on `)),
      `${decision.reasons}`,
    );
  });

  test("takes the next hour that is allowed if its usual hour is quiet", () => {
    for (const code of ["51", "61"])
      for (const [from, to] of [
        [22, 12],
        [8, 0],
        [23, 19],
      ] as const) {
        const decision = decide({ hours: { from, to } }, code);
        assert.equal(localHour(BERLIN, +decision.at), to, `${code}: ${from} to ${to}`);
        const isHeldBack = !(code === "61" && to === 0);
        const isRule = (reason: string) => reason.startsWith(`${RULE} allows no retries between `);
        assert.equal(decision.reasons.some(isRule), isHeldBack);
      }
  });

  test("waits, and names the rule, if the rest of the window is quiet", () => {
    const facts = buildFailedFacts(
      { networkDeclineCode: "51" },
      { quietTimes: quietTimes({ dates: ["01-01..12-31"] }) },
    );
    const decision = decideSoonAfterFailure(facts);
    assert.equal(decision.kind, "wait");
    assert.ok(decision.reasons.includes(`${RULE} allows no retries from 1 January to 31 December.`));
  });
});

suite("the learned policy", () => {
  const model = fromPretrained(readPretrainedModel(pino({ level: "silent" }))!);
  const decide = (quiet: Partial<QuietTimes>, hours = 0.1) => {
    const [facts, history] = buildCase([...PAID_ON_THE_25TH, buildInvoice("2026-05-11", [])], {
      quietTimes: quietTimes(quiet),
      explores: false,
    });
    const context = buildDecisionContext(facts, soonAfterFailure(facts, hours), history);
    return { context, result: decideLearned(context, history, model) };
  };
  const STOCKHOLM = findZone("Europe/Stockholm")!;

  test("plans a retry at the few hours that are allowed", () => {
    for (const [from, to] of [
      [18, 14],
      [2, 22],
      [22, 7],
      [12, 8],
    ] as const) {
      const { result } = decide({ hours: { from, to } });
      const decision = assertRetry(result.decision);
      assert.ok(result.isLearned);
      const hour = localHour(STOCKHOLM, +decision.at);
      assert.ok(from < to ? hour < from || hour >= to : hour >= to && hour < from, `${from} to ${to}: ${hour}`);
      assert.ok(
        decision.reasons.some((reason) => reason.startsWith(`${RULE} allows no retries`)),
        `${decision.reasons}`,
      );
      const { isQuietHour } = buildQuietGuard(quietTimes({ hours: { from, to } }), STOCKHOLM);
      for (const at of result.chosen!.nextTimes) assert.ok(!isQuietHour(at));
    }
  });

  test("plans no retry on a quiet date", () => {
    const free = assertRetry(decide({}).result.decision);
    const date = new Date(free.at).toISOString().slice(0, 10);
    const decision = assertRetry(decide({ dates: [date] }).result.decision);
    assert.notEqual(decision.at.toISOString().slice(0, 10), date);
  });

  test("lists a few quiet times as excluded, and all of them once among the facts", () => {
    const { context, result } = decide({ hours: { from: 22, to: 7 } });
    const { ruledOut, known } = buildAccount(context, result, null, null);
    assert.equal(ruledOut.filter(({ rule }) => rule.startsWith(RULE)).length, 3);
    assert.ok(known.includes(`${RULE} allows no retries between 22:00 and 07:00.`));
  });
});

test("a retry at once is refused in a quiet time, with the rule", () => {
  const now = hoursAfterFailure(14);
  const facts = buildFailedFacts({ networkDeclineCode: "51" }, { quietTimes: quietTimes({ weekdays: ["TUESDAY"] }) });
  const decision = decideRetryAtOnce(buildDecisionContext(facts, now));
  assert.equal(decision.kind, "wait");
  assert.ok(decision.reasons.includes(`${RULE} allows no retries on Tuesdays.`));
  const later = decideRetryAtOnce(buildDecisionContext(facts, hoursAfterFailure(39)));
  assert.equal(later.kind, "retry");
});

test("without quiet times, the static policy decides as before", () => {
  const facts = buildFailedFacts({ networkDeclineCode: "51" });
  const never = { ...facts, quietTimes: quietTimes({}) };
  assert.deepEqual(
    decideStatic(buildDecisionContext(never, hoursAfterFailure(1))),
    decideStatic(buildDecisionContext(facts, hoursAfterFailure(1))),
  );
});
