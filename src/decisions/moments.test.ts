import assert from "node:assert/strict";
import { test } from "node:test";
import { failed, HOUR, soon } from "./decide.fixture.ts";
import { atLocalTime, localDay, zoneOf } from "./local-time.ts";
import { anchorOf, firstMoment, laterMoments, type Span, spanOf } from "./moments.ts";

const DAY = 24 * HOUR;
const zone = zoneOf("Europe/Berlin")!;
const there = { zone, country: "DE" };
/** Local time of Berlin. */
const at = (text: string) => {
  const [date, hour] = text.split(" ");
  return atLocalTime(zone, localDay(zone, Date.parse(`${date}T12:00:00Z`)), Number(hour));
};
const span = (over: Partial<Span> = {}): Span => ({
  even: at("2026-04-10 15"),
  from: at("2026-04-09 0"),
  to: at("2026-04-11 20"),
  windowEnd: at("2026-04-14 9"),
  jitterMs: 60_000,
  ...over,
});

test("later moments are one a day from the one after the first on, in the morning, up to the window's end", () => {
  const later = (first: number, over?: Partial<Span>) => [...laterMoments(span(over), first, "FUNDS", there)];
  const mornings = ["2026-04-11 9", "2026-04-12 9", "2026-04-13 9"].map((text) => at(text) + 60_000);
  assert.deepEqual(
    later(at("2026-04-10 9") + 60_000),
    mornings.map((moment) => ({ at: moment, why: "morning" })),
  );
  // Shortly before a morning it is that one.
  assert.equal(later(at("2026-04-11 9") + 59_999)[0]!.at, mornings[0]);
  assert.equal(later(mornings[0]!)[0]!.at, mornings[1]);
  // At the window's end nothing is tried, a second before it something is.
  const end = mornings[1]!;
  assert.deepEqual(later(mornings[0]!, { windowEnd: end }), []);
  assert.equal(later(mornings[0]!, { windowEnd: end + 1_000 }).length, 1);
});

test("after a limit later moments are the turns of days", () => {
  const turns = [...laterMoments(span(), at("2026-04-11 0") + 60_000, "LIMIT", there)];
  assert.deepEqual(turns, [
    { at: at("2026-04-12 0") + 60_000, why: "day_turn" },
    { at: at("2026-04-13 0") + 60_000, why: "day_turn" },
    { at: at("2026-04-14 0") + 60_000, why: "day_turn" },
  ]);
});

test("the first moment is the morning nearest to the even one, or a pay day of the span", () => {
  assert.deepEqual(firstMoment(span(), "GENERIC", there), { at: at("2026-04-10 9") + 60_000, why: "morning" });
  const around15th = span({ even: at("2026-04-14 3"), from: at("2026-04-12 0"), to: at("2026-04-16 0") });
  const paid = firstMoment({ ...around15th, windowEnd: at("2026-04-20 9") }, "FUNDS", there);
  assert.equal(paid.why, "pay_day");
  assert.equal(paid.at, at("2026-04-15 9") + 60_000);
  const generic = firstMoment({ ...around15th, windowEnd: at("2026-04-20 9") }, "GENERIC", there);
  assert.equal(generic.at, at("2026-04-14 9") + 60_000);
});

test("after a limit the first moment is the turn of a month, else the soonest turn of a day", () => {
  const turn = span({ from: at("2026-04-29 1"), to: at("2026-05-03 0"), windowEnd: at("2026-05-10 0") });
  assert.deepEqual(firstMoment(turn, "LIMIT", there), { at: at("2026-05-01 0") + 60_000, why: "month_turn" });
  assert.deepEqual(firstMoment(span(), "LIMIT", there), { at: at("2026-04-09 0") + 60_000, why: "day_turn" });
});

test("where no morning lies in the span, the try comes when tries are spread evenly, a few minutes later if the window allows it", () => {
  const short = { even: at("2026-04-10 15"), from: at("2026-04-10 14"), to: at("2026-04-10 16") };
  assert.deepEqual(firstMoment(span(short), "GENERIC", there), { at: short.even + 60_000, why: "even" });
  const ending = span({ ...short, windowEnd: short.even + 60_000 });
  assert.deepEqual(firstMoment(ending, "GENERIC", there), { at: short.even, why: "even" });
});

test("tries are counted from the last one that was made or asked for on this invoice", () => {
  const known = failed({ networkDeclineCode: "51" });
  const other = { ...known.ledger[0]!, at: soon(50), onThisInvoice: false };
  assert.equal(anchorOf({ ...known, ledger: [...known.ledger, other] }), +soon(0));
  assert.equal(anchorOf({ ...known, ledger: [...known.ledger, { ...other, onThisInvoice: true }] }), +soon(50));
  const retry = (status: "SENT" | "SCHEDULED" | "CANCELED") => ({ status, idealRetryTime: soon(70) });
  const retried = (status: "SENT" | "SCHEDULED" | "CANCELED") =>
    anchorOf({ ...known, retries: [retry(status)] } as unknown as typeof known);
  assert.deepEqual([retried("SENT"), retried("SCHEDULED"), retried("CANCELED")], [+soon(70), +soon(0), +soon(0)]);
});

test("tries that are left are spread evenly over the days left, no sooner than twelve hours after the last one or than the bank advises", () => {
  const known = failed({ networkDeclineCode: "51" });
  const { even, from, to, windowEnd } = spanOf(known, 3, 0);
  assert.equal(even, +soon(0) + 7 * DAY);
  assert.deepEqual([from, to, windowEnd], [even - 3.5 * DAY, even + 3.5 * DAY, +soon(28 * 24)]);
  assert.equal(spanOf(known, 200, 0).even, +soon(12), "28 days for 200 tries are less than twelve hours each");
  const advised = spanOf(known, 3, +soon(10 * 24));
  assert.deepEqual([advised.even, advised.from], [+soon(10 * 24), +soon(10 * 24)]);
  const late = spanOf({ ...known, windowEndsAt: soon(-1) }, 3, 0);
  assert.ok(late.to < late.from, "a window that is over has no room");
});
