import assert from "node:assert/strict";
import { test } from "node:test";
import { createIssuers } from "../worlds/consumers/issuers.ts";
import { createPerson } from "../worlds/consumers/people.ts";
import { CALENDAR, YEAR_START } from "../worlds/consumers/year.ts";
import { DAY_MS } from "../worlds/keyed-uniform.ts";
import { createRandomStream } from "../worlds/random-stream.ts";
import {
  applyCharge,
  type CandidateLife,
  copyLife,
  createLife,
  explainCharge,
  type ObservedCharge,
} from "./candidate-life.ts";
import { buildObservedCharge } from "./observed-charge.fixture.ts";

const random = createRandomStream();
const issuers = createIssuers(1, random);
const PERSON = createPerson(1, 7, issuers, { tight: 1, left: 1 });
random.begin(1, 1, 1, 1);

/** Builds a life with this balance. The issuer reports missing funds as 51 and has no daily limit. */
function buildLife(balance: number): CandidateLife {
  const issuer = { ...PERSON.issuer, masks: 0, brand: "visa" };
  const life = createLife({
    ...PERSON,
    issuer,
    dayLimit: Number.POSITIVE_INFINITY,
    rushes: 0,
    alarms: 0.0001,
    attention: 1,
  });
  Object.assign(life.state, { balance, spent: 0 });
  return life;
}

const chanceOf = (life: CandidateLife, charge: ObservedCharge) => explainCharge(life, charge, random.draw);

test("a charge is approved when the balance covers it, and declined when it does not", () => {
  assert.ok(chanceOf(buildLife(50), buildObservedCharge(null)) > 0.95);
  assert.equal(chanceOf(buildLife(5), buildObservedCharge(null)), 0);
  assert.ok(chanceOf(buildLife(5), buildObservedCharge("51")) > 0.95);
});

test("a decline for missing funds in a life that has them means leaving, after which one invoice and one code come", () => {
  const life = buildLife(50);
  const chance = chanceOf(life, buildObservedCharge("51"));
  assert.ok(chance > 0.005 && chance < 0.02, String(chance));
  assert.deepEqual([life.leftAt, life.person.leaveCode], [buildObservedCharge("51").at, "51"]);
  assert.equal(chanceOf(life, buildObservedCharge("51", { at: buildObservedCharge(null).at + DAY_MS })), 1);
  assert.equal(chanceOf(life, buildObservedCharge("05", { at: buildObservedCharge(null).at + DAY_MS })), 0);
  assert.equal(chanceOf(life, buildObservedCharge("51", { billedBefore: buildObservedCharge(null).at })), 0);
});

test("a decline without a reason is a hold or leaving, weighted by how often either happens", () => {
  const lives = Array.from({ length: 500 }, () => buildLife(50));
  for (const life of lives) chanceOf(life, buildObservedCharge("05"));
  const heldCount = lives.filter(({ state }) => state.hold !== "none").length;
  const leftCount = lives.filter(({ leftAt }) => leftAt !== null).length;
  const refusedCount = lives.length - heldCount - leftCount;
  assert.ok(
    heldCount > 50 && leftCount > 50 && refusedCount > 50,
    `${heldCount} held, ${leftCount} left, ${refusedCount} refused for nothing`,
  );
});

test("a different card is a new one, and the old one never returns", () => {
  const life = buildLife(50);
  assert.ok(chanceOf(life, buildObservedCharge(null, { card: 1 })) > 0);
  assert.equal(life.state.card, 1);
  assert.equal(chanceOf(life, buildObservedCharge(null)), 0);
});

test("an expired card awaits its replacement, by a batch when the bank's advice says so", () => {
  const routes = Array.from({ length: 200 }, () => {
    const life = buildLife(50);
    life.person.issuer.brand = "mastercard";
    chanceOf(life, buildObservedCharge("54", { advice: "01" }));
    return life.state.awaits;
  });
  assert.ok(routes.every((route) => route === "batch"));
});

test("a card that is still old after a month more often awaits a batch, because holders enter new cards unasked", () => {
  const routes = Array.from({ length: 400 }, () => {
    const life = buildLife(50);
    chanceOf(life, buildObservedCharge("54"));
    return life.state.awaits;
  });
  const holders = routes.filter((route) => route === "holder").length;
  assert.ok(holders > 25 && holders < 90, String(holders));
});

test("an approved charge lowers the weight of people whose cards are often held", () => {
  const often = buildLife(50);
  often.person = { ...often.person, alarms: 0.0008 };
  const never = buildLife(50);
  never.person = { ...never.person, alarms: 0 };
  const [heldChance, free] = [often, never].map((life) => chanceOf(life, buildObservedCharge(null)));
  assert.ok(heldChance! < 0.96 * free!, `${heldChance} held, ${free} not`);
  assert.equal(explainCharge(never, buildObservedCharge("59"), random.draw), 0);
});

test("a person who signs up on a pay day is likelier to be paid on it, by the first invoice", () => {
  const at = YEAR_START + 60 * DAY_MS;
  const paidOn = (later: number) => {
    const payDays = new Uint8Array(PERSON.payDays.length);
    for (const back of [0, 30]) payDays[at / DAY_MS - CALENDAR.firstDay + later - back] = 1;
    const life = buildLife(50);
    life.person = { ...life.person, payDays };
    return chanceOf(life, buildObservedCharge(null, { signedUp: at })) / chanceOf(life, buildObservedCharge(null));
  };
  assert.equal(paidOn(0).toFixed(6), "15.500000");
  assert.equal(paidOn(5).toFixed(6), "0.500000");
});

test("a covered charge is refused only when a strict bank blocks or holds the card", () => {
  assert.equal(chanceOf(buildLife(50), buildObservedCharge(null, { isBlocked: true })), 0);
  const blocked = buildLife(50);
  assert.ok(chanceOf(blocked, buildObservedCharge("05", { isBlocked: true })) > 0.95);
  assert.equal(blocked.state.hold, "none");
  const heldLife = buildLife(50);
  heldLife.state.hold = "long";
  assert.equal(chanceOf(heldLife, buildObservedCharge(null)), 0);
  assert.ok(Math.abs(chanceOf(heldLife, buildObservedCharge("59")) - 0.2) < 0.02);
});

test("a rush or a full day explains only its own code", () => {
  const rushing = buildLife(50);
  rushing.person = { ...rushing.person, rushes: 0.004 };
  const chance = chanceOf(rushing, buildObservedCharge("65"));
  assert.ok(chance > 0.02 && chance < 0.1 && rushing.state.rush > 0, String(chance));
  assert.equal(chanceOf(buildLife(50), buildObservedCharge("65")), 0);
  const fullLife = buildLife(50);
  fullLife.person = { ...fullLife.person, dayLimit: 10 };
  assert.equal(chanceOf(fullLife, buildObservedCharge(null)), 0);
  assert.ok(chanceOf(fullLife, buildObservedCharge("61")) > 0.9);
});

test("an outage changes nothing about the customer", () => {
  const life = buildLife(5);
  const before = copyLife(life);
  assert.equal(chanceOf(life, buildObservedCharge("91")), 1);
  assert.deepEqual(life, before);
});

test("a charge takes the money, and a customer reacts when they read about a decline", () => {
  const paid = buildLife(50);
  applyCharge(paid, buildObservedCharge(null), random.draw);
  assert.equal(paid.state.balance, 30);
  const declined = buildLife(5);
  applyCharge(declined, buildObservedCharge("51"), random.draw);
  assert.deepEqual([declined.state.noticedFor, declined.state.missing], [1, 20]);
  declined.state.noticedFor = 9;
  applyCharge(declined, buildObservedCharge("51"), random.draw);
  assert.equal(declined.state.noticedFor, 9, "who knows already is not told again");
  const expired = buildLife(50);
  chanceOf(expired, buildObservedCharge("54"));
  applyCharge(expired, buildObservedCharge("54"), random.draw);
  assert.equal(expired.leftAt !== null || expired.state.refusedFor === 1, true);
});
