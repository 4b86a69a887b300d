import assert from "node:assert/strict";
import { test } from "node:test";
import { newBelief, newPerson } from "./belief.ts";
import { forecast } from "./forecast.ts";
import { AT, classOf, dateWeight, type Reason, type Rows, STANDINGS } from "./layout.ts";
import { learnFirst, learnOutcome } from "./learn.ts";
import { type Learned, newLearned } from "./learned.ts";
import { chanceOf } from "./observe.ts";

const DAY = 86_400_000;
const at = (moment: string) => Date.parse(`${moment}:00Z`);
const FAILED_AT = at("2026-03-12T09:00");
const NO_NAMES = new Int32Array(0);
const somebody = (learned: Learned) => newPerson(learned, "SE");

function beliefOf(learned: Learned, rows: Rows, reason: Reason = "GENERIC") {
  const facts = { reason, code: "05", standing: STANDINGS.between, names: NO_NAMES, codeName: AT.name, rows };
  return newBelief(learned, somebody(learned), { ...facts, offsetMs: 0, failedAt: FAILED_AT, recent: [] });
}

test("what is true of a date is learned from retries, however many bills are first charged on it", () => {
  const learned = newLearned();
  const weightOf = (date: number) => learned.mean[dateWeight(classOf("FUNDS"), date)]!;
  for (let n = 0; n < 400; n++) {
    const isGood = n % 2 === 0;
    const triedAt = at(`2026-03-${isGood ? "25" : "18"}T09:00`);
    for (let bill = 0; bill < 12; bill++)
      learnFirst(learned, somebody(learned), NO_NAMES, 0, triedAt, bill % 4 === 0 ? "FUNDS" : null);
    const belief = beliefOf(learned, { pay: 0, country: 0, code: 0, issuer: 0 }, "FUNDS");
    learnOutcome(learned, somebody(learned), belief, triedAt, isGood ? null : "FUNDS");
  }
  assert.ok(weightOf(25) > 0.3, `${weightOf(25)}`);
  assert.ok(weightOf(18) < -0.3, `${weightOf(18)}`);
});

test("a country's dates, a code's first days and an issuer's hours are learned apart from those of others", () => {
  const learned = newLearned();
  const own = { pay: 0, country: 1, code: 1, issuer: 1 };
  const others = { pay: 0, country: 2, code: 2, issuer: 2 };
  const triedAt = at("2026-03-13T02:00");
  for (let n = 0; n < 400; n++) {
    const rows = n % 2 === 0 ? own : others;
    learnOutcome(learned, somebody(learned), beliefOf(learned, rows), triedAt, rows === own ? null : "GENERIC");
  }
  const chance = (rows: Rows, moment = triedAt) => forecast(learned, beliefOf(learned, rows), [moment]).chances[0]!;
  assert.ok(chance(own) > chance(others) + 0.2, `${chance(own)} against ${chance(others)}`);
  for (const name of ["country", "code", "issuer"] as const) {
    const mixed = { ...others, [name]: own[name] };
    assert.ok(chance(mixed) > chance(others) + 0.02, `${name}: ${chance(mixed)} against ${chance(others)}`);
  }
  const elsewhen = at("2026-03-20T13:00");
  assert.ok(Math.abs(chance(own, elsewhen) - chance(others, elsewhen)) < 1e-9, "another date, hour and week");
});

test("the chance that is said of a try is the one that its outcome is weighed by, however little is known of the weights", () => {
  const learned = newLearned();
  const belief = beliefOf(learned, { pay: 0, country: 0, code: 0, issuer: 0 }, "FUNDS");
  const person = somebody(learned);
  for (const [days, reason] of [
    [1, "FUNDS"],
    [4, "GENERIC"],
    [9, "FUNDS"],
    [16, null],
  ] as const) {
    const triedAt = FAILED_AT + days * DAY;
    const said = chanceOf(learned, belief, triedAt);
    const weighed = learnOutcome(learned, person, belief, triedAt, reason);
    assert.ok(Math.abs(weighed - said) < 1e-4, `${weighed} and ${said}`);
  }
});
