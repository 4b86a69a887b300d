import assert from "node:assert/strict";
import { test } from "node:test";
import type { DecisionAccount, DecisionRecord } from "../../domain/decision.ts";
import { findZone, fromLocalTime } from "../../engine/local-time.ts";
import { htmlText } from "../html.ts";
import { consideredTimes, hasConsideredTimes, isReadable } from "./considered-times.ts";

const START = new Date("2026-03-02T08:00:00Z");
const day = (n: number, hour = 0) => new Date(+START + n * 86_400_000 + hour * 3_600_000);

function decisionWith(account: Partial<DecisionAccount>): DecisionRecord {
  const empty: DecisionAccount = {
    reasons: [],
    known: [],
    about: { wait: [], rule: [], limit: [], tally: [] },
    knowsFailure: true,
    changed: [],
    ruledOut: [],
    days: [],
    hours: [],
    even: null,
    drawn: false,
    hourDrawn: false,
    spread: false,
    fallback: null,
  };
  return {
    caseId: "c",
    number: 1,
    madeAt: START,
    engine: "learned",
    modelVersion: 1,
    kind: "retry",
    actionId: "a",
    idealTime: day(3),
    chance: 0.41,
    propensity: 0.9,
    facts: "",
    account: { ...empty, ...account },
  };
}

const DAYS = [1, 2, 3, 4].map((n) => ({
  at: day(n),
  chance: n === 3 ? 0.4 : 0.1 * n,
  worth: n === 3 ? 0.5 : 0.05 * n,
}));

const EVENLY_SPACED = {
  tries: [day(4)],
  recovers: 0.5,
  worth: 0.4,
  plan: [day(3)],
  planRecovers: 0.63,
  planWorth: 0.5,
  asMany: null,
};

/** The chart and its table, of an invoice over EUR 200.00. */
function render(decision: DecisionRecord, { windowEndsAt = day(28), zone = "UTC", readerZone = "UTC" } = {}) {
  const clock = { zone: findZone(zone)!, readerZone };
  const { chart, numbers, following } = consideredTimes(decision, {
    windowEndsAt,
    amount: 20_000,
    currency: "EUR",
    clock,
  });
  return { chart: htmlText(chart), numbers: htmlText(numbers), following };
}
interface Mark {
  at: string;
  x: number;
  y: number;
  isChosen: boolean;
  words: string;
}
/** The marks in the chart. */
const marksOf = (chart: string): Mark[] =>
  [
    ...chart.matchAll(
      /<g data-at="([^"]+)"><title>([^<]*)<\/title>.*?<circle class="c-point( full)?" cx="([\d.]+)%" cy="([\d.]+)"/g,
    ),
  ].map(([, at, words, full, x, y]) => ({ at: at!, words: words!, isChosen: !!full, x: Number(x), y: Number(y) }));
/** The dates below the chart by their place. */
const datesOf = (chart: string) =>
  new Map([...chart.matchAll(/x="([\d.]+)%" y="186"[^>]*>(\d+)</g)].map(([, x, date]) => [Number(x), date!]));

test("the chart and the table show the same times, as money, with the rules that forbid others", () => {
  const ruledOut = [{ rule: "Visa allows <15> tries.", source: "Visa Core Rules", from: day(5), to: day(6) }];
  const { chart, numbers } = render(decisionWith({ days: DAYS, ruledOut, even: EVENLY_SPACED }));
  assert.match(
    chart,
    /aria-label="Expected money by day in UTC\. Chosen: Thu 5 March, 08:00: EUR.100\.00 to expect, a success probability of 41%\. Also considered: Tue 3 March, 08:00: EUR.10\.00 to expect[^"]*A rule forbids Sat 7 March, 08:00 to Sun 8 March, 08:00: Visa allows &lt;15&gt; tries\./,
  );
  const marks = marksOf(chart);
  assert.deepEqual(
    marks.map(({ isChosen }) => isChosen),
    [false, false, true, false],
  );
  assert.equal(chart.match(/class="c-ban" x=/g)?.length, 1);
  assert.equal(numbers.match(/<tr><td[^>]*><time/g)?.length, 4);
  assert.match(numbers, />EUR.100\.00<\/td><td[^>]*>41%<\/td><td class="number"[^>]*>50%<\/td><td><small>chosen/);
});

test("a sampled time is shown beside the best time of its day, each with its own value", () => {
  const even = { ...EVENLY_SPACED, tries: [], plan: [day(3, 4)], planWorth: 0.48 };
  const hours = [
    { at: day(3), chance: 0.4, worth: 0.5 },
    { at: day(3, 4), chance: 0.41, worth: null },
  ];
  const sampled = { ...decisionWith({ days: DAYS, hours, even, hourDrawn: true }), idealTime: day(3, 4) };
  const { chart, numbers } = render(sampled);
  const marks = marksOf(chart);
  assert.equal(marks.length, 5);
  const [best, chosen] = marks.filter(({ at }) => at.startsWith("2026-03-05"));
  assert.deepEqual([best!.isChosen, chosen!.isChosen], [false, true]);
  assert.ok(best!.x < chosen!.x, "side by side, in their order");
  assert.match(numbers, />41%<\/td><td class="number"[^>]*>48%<\/td><td><small>chosen/);
  assert.match(numbers, />40%<\/td><td class="number"[^>]*>50%<\/td><td><small>best compared time of its day/);
  assert.match(
    numbers,
    />41%<\/td><td class="number"[^>]*>not compared<\/td><td><small>hour of the chosen day, chosen/,
  );
});

test("a mark is as high as its expected money, whatever its probability", () => {
  const days = DAYS.map((each, n) => ({ ...each, chance: 0.5, worth: n === 2 ? 0.6 : 0.5 }));
  const even = { ...EVENLY_SPACED, planWorth: 0.6 };
  const marks = marksOf(render({ ...decisionWith({ days, even }), chance: 0.1 }).chart);
  const highest = Math.min(...marks.map(({ y }) => y));
  assert.deepEqual(
    marks.filter(({ y }) => y === highest).map(({ isChosen }) => isChosen),
    [true],
  );
});

test("the foot says which retry would follow, unless retries are evenly spaced", () => {
  const plan = [day(3), day(6), day(9), day(12)];
  const even = { ...EVENLY_SPACED, plan };
  assert.equal(
    render(decisionWith({ days: DAYS, even })).following,
    "If it fails, Sun 8 March, 08:00 would be next. After that, the plan has 2 more retries.",
  );
  assert.equal(render(decisionWith({ days: DAYS, even, spread: true })).following, null);
  assert.equal(render(decisionWith({ days: DAYS, even: EVENLY_SPACED })).following, null);
});

test("each mark stands above its date in the customer's zone, also across a clock change", () => {
  for (const [zone, first, dates] of [
    // Clocks go forward on March 29, so a day there has 23 hours.
    ["Europe/Berlin", "2026-03-27T23:30:00Z", ["28", "29", "30", "31"]],
    // Clocks go back on April 5, so a day there has 25 hours.
    ["Pacific/Auckland", "2026-04-03T11:30:00Z", ["4", "5", "6", "7"]],
    ["America/New_York", "2026-03-07T05:30:00Z", ["7", "8", "9", "10"]],
  ] as const) {
    const wall = findZone(zone)!;
    const midnights = dates.map((date) => {
      const utc = Date.parse(
        `${first.slice(0, 4)}-${zone === "Pacific/Auckland" ? "04" : "03"}-${date.padStart(2, "0")}T00:30:00Z`,
      );
      return new Date(fromLocalTime(wall, utc));
    });
    assert.equal(midnights[0]!.toISOString().slice(0, 19), first.slice(0, 19), zone);
    const days = midnights.map((at, n) => ({ at, chance: 0.4, worth: 0.5 - n / 100 }));
    const decision = { ...decisionWith({ days }), madeAt: midnights[0]!, idealTime: midnights[0]! };
    const { chart } = render(decision, { zone, windowEndsAt: midnights.at(-1)! });
    const below = datesOf(chart);
    assert.deepEqual(
      marksOf(chart).map(({ x }) => below.get(x)),
      dates,
      zone,
    );
  }
});

test("a forbidden time is hatched from its instant on, in parts of a day of 23 hours", () => {
  // 29 March has 23 hours in Berlin: noon is 11 hours after midnight.
  const [from, to] = [new Date("2026-03-29T10:00:00Z"), new Date("2026-03-29T22:00:00Z")];
  const days = [{ at: new Date("2026-03-28T08:00:00Z"), chance: 0.4, worth: 0.5 }];
  const ruledOut = [{ rule: "R.", source: "S", from, to }];
  const decision = { ...decisionWith({ days, ruledOut }), madeAt: days[0]!.at, idealTime: days[0]!.at };
  const { chart } = render(decision, { zone: "Europe/Berlin", windowEndsAt: new Date("2026-03-29T20:00:00Z") });
  const [, x, width] = /class="c-ban" x="([\d.]+)%" width="([\d.]+)%"/.exec(chart)!;
  assert.ok(Math.abs(Number(x) - (50 + (50 * 11) / 23)) < 0.01, `${x}`);
  assert.ok(Math.abs(Number(x) + Number(width) - 100) < 0.02, "to the end of the day");
});

test("times are the customer's, and the reader's in the tooltip", () => {
  const { chart, numbers } = render(decisionWith({ days: DAYS }), {
    zone: "Pacific/Auckland",
    readerZone: "Europe/Berlin",
  });
  assert.match(chart, /in Auckland time\. Chosen: Thu 5 March, 21:00/);
  assert.match(numbers, /title="Your time \(Europe\/Berlin\): 5 Mar 2026 09:00">Thu 5 March, 21:00</);
});

test("a decision without compared times has no chart", () => {
  assert.equal(hasConsideredTimes(decisionWith({})), false);
  assert.equal(hasConsideredTimes({ ...decisionWith({ days: DAYS }), idealTime: null }), false);
  assert.equal(hasConsideredTimes({ ...decisionWith({ days: DAYS }), chance: null }), false);
});

test("decisions of earlier versions, without expected values, stay readable", () => {
  const days = DAYS.map(({ at, chance }) => ({ at, chance, worth: Number.NaN }));
  const { chart, numbers } = render(decisionWith({ days, even: null }));
  assert.equal(marksOf(chart).length, 4);
  assert.doesNotMatch(chart + numbers, /NaN/);
  assert.match(numbers, /not compared<\/td><td[^>]*>41%<\/td><td[^>]*>not compared<\/td><td><small>chosen/);
  assert.equal(isReadable(decisionWith({ days: [{ at: new Date(Number.NaN), chance: 0, worth: 0 }] })), false);
});
