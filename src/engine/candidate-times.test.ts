import assert from "node:assert/strict";
import { test } from "node:test";
import { chooseBestTime, lastAttemptTime, laterTimes, type RetryInterval, retryIntervalOf } from "./candidate-times.ts";
import { buildFailedFacts, HOUR, hoursAfterFailure } from "./decide-static.fixture.ts";
import { atLocalTime, findZone, localDay } from "./local-time.ts";

const DAY = 24 * HOUR;
const zone = findZone("Europe/Berlin")!;
const BERLIN = { zone, country: "DE" };
/** Parses a local time in Berlin. */
const at = (text: string) => {
  const [date, hour] = text.split(" ");
  return atLocalTime(zone, localDay(zone, Date.parse(`${date}T12:00:00Z`)), Number(hour));
};
const buildInterval = (overrides: Partial<RetryInterval> = {}): RetryInterval => ({
  even: at("2026-04-10 15"),
  from: at("2026-04-09 0"),
  to: at("2026-04-11 20"),
  windowEnd: at("2026-04-14 9"),
  jitterMs: 60_000,
  ...overrides,
});

test("later candidate times are one a day, in the morning, up to the window's end", () => {
  const later = (first: number, overrides?: Partial<RetryInterval>) => [
    ...laterTimes(buildInterval(overrides), first, "FUNDS", BERLIN),
  ];
  const mornings = ["2026-04-11 9", "2026-04-12 9", "2026-04-13 9"].map((text) => at(text) + 60_000);
  assert.deepEqual(
    later(at("2026-04-10 9") + 60_000),
    mornings.map((time) => ({ at: time, why: "morning" })),
  );
  // Shortly before a morning, that morning is used.
  assert.equal(later(at("2026-04-11 9") + 59_999)[0]!.at, mornings[0]);
  assert.equal(later(mornings[0]!)[0]!.at, mornings[1]);
  // No retry comes at the window's end, but one may a second before.
  const end = mornings[1]!;
  assert.deepEqual(later(mornings[0]!, { windowEnd: end }), []);
  assert.equal(later(mornings[0]!, { windowEnd: end + 1_000 }).length, 1);
});

test("later candidate times are the starts of days after a limit", () => {
  const turns = [...laterTimes(buildInterval(), at("2026-04-11 0") + 60_000, "LIMIT", BERLIN)];
  assert.deepEqual(turns, [
    { at: at("2026-04-12 0") + 60_000, why: "day_turn" },
    { at: at("2026-04-13 0") + 60_000, why: "day_turn" },
    { at: at("2026-04-14 0") + 60_000, why: "day_turn" },
  ]);
});

test("the first time is the morning closest to the evenly spaced one, or a pay day within the interval", () => {
  assert.deepEqual(chooseBestTime(buildInterval(), "GENERIC", BERLIN), {
    at: at("2026-04-10 9") + 60_000,
    why: "morning",
  });
  const around15th = buildInterval({ even: at("2026-04-14 3"), from: at("2026-04-12 0"), to: at("2026-04-16 0") });
  const paid = chooseBestTime({ ...around15th, windowEnd: at("2026-04-20 9") }, "FUNDS", BERLIN);
  assert.equal(paid.why, "pay_day");
  assert.equal(paid.at, at("2026-04-15 9") + 60_000);
  const generic = chooseBestTime({ ...around15th, windowEnd: at("2026-04-20 9") }, "GENERIC", BERLIN);
  assert.equal(generic.at, at("2026-04-14 9") + 60_000);
});

test("the first time is the start of a month after a limit, else the next start of a day", () => {
  const turn = buildInterval({ from: at("2026-04-29 1"), to: at("2026-05-03 0"), windowEnd: at("2026-05-10 0") });
  assert.deepEqual(chooseBestTime(turn, "LIMIT", BERLIN), { at: at("2026-05-01 0") + 60_000, why: "month_turn" });
  assert.deepEqual(chooseBestTime(buildInterval(), "LIMIT", BERLIN), {
    at: at("2026-04-09 0") + 60_000,
    why: "day_turn",
  });
});

test("a retry comes at its evenly spaced time, plus some minutes if the window allows, when the interval has no morning", () => {
  const short = { even: at("2026-04-10 15"), from: at("2026-04-10 14"), to: at("2026-04-10 16") };
  assert.deepEqual(chooseBestTime(buildInterval(short), "GENERIC", BERLIN), { at: short.even + 60_000, why: "even" });
  const ending = buildInterval({ ...short, windowEnd: short.even + 60_000 });
  assert.deepEqual(chooseBestTime(ending, "GENERIC", BERLIN), { at: short.even, why: "even" });
});

test("retries count from the last one made or requested for this invoice", () => {
  const facts = buildFailedFacts({ networkDeclineCode: "51" });
  const other = { ...facts.ledger[0]!, at: hoursAfterFailure(50), onThisInvoice: false };
  assert.equal(lastAttemptTime({ ...facts, ledger: [...facts.ledger, other] }), +hoursAfterFailure(0));
  assert.equal(
    lastAttemptTime({ ...facts, ledger: [...facts.ledger, { ...other, onThisInvoice: true }] }),
    +hoursAfterFailure(50),
  );
  const retry = (status: "SENT" | "SCHEDULED" | "CANCELED") => ({ status, idealRetryTime: hoursAfterFailure(70) });
  const retried = (status: "SENT" | "SCHEDULED" | "CANCELED") =>
    lastAttemptTime({ ...facts, retries: [retry(status)] } as unknown as typeof facts);
  assert.deepEqual(
    [retried("SENT"), retried("SCHEDULED"), retried("CANCELED")],
    [+hoursAfterFailure(70), +hoursAfterFailure(0), +hoursAfterFailure(0)],
  );
});

test("the remaining retries spread evenly over the days left, at least twelve hours after the last one and any advised wait", () => {
  const facts = buildFailedFacts({ networkDeclineCode: "51" });
  const { even, from, to, windowEnd } = retryIntervalOf(facts, 3, 0);
  assert.equal(even, +hoursAfterFailure(0) + 7 * DAY);
  assert.deepEqual([from, to, windowEnd], [even - 3.5 * DAY, even + 3.5 * DAY, +hoursAfterFailure(28 * 24)]);
  assert.equal(
    retryIntervalOf(facts, 200, 0).even,
    +hoursAfterFailure(12),
    "28 days for 200 tries are less than twelve hours each",
  );
  const advised = retryIntervalOf(facts, 3, +hoursAfterFailure(10 * 24));
  assert.deepEqual([advised.even, advised.from], [+hoursAfterFailure(10 * 24), +hoursAfterFailure(10 * 24)]);
  const late = retryIntervalOf({ ...facts, windowEndsAt: hoursAfterFailure(-1) }, 3, 0);
  assert.ok(late.to < late.from, "a window that is over has no room");
});
