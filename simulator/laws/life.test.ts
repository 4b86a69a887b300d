import assert from "node:assert/strict";
import { test } from "node:test";
import { DAY_MS } from "../worlds/coin.ts";
import { issuersOf } from "../worlds/consumers/issuers.ts";
import { personOf } from "../worlds/consumers/people.ts";
import { CALENDAR, FROM } from "../worlds/consumers/year.ts";
import { createLuck } from "../worlds/luck.ts";
import { copyOf, explain, type Life, lifeOf, type Seen, suffer } from "./life.ts";
import { seen } from "./seen.fixture.ts";

const luck = createLuck();
const issuers = issuersOf(1, luck);
const someone = personOf(1, 7, issuers, { tight: 1, left: 1 });
luck.begin(1, 1, 1, 1);

/** A life of somebody with so much money, whose issuer calls missing funds 51 and knows no limit of a day. */
function lifeWith(balance: number): Life {
  const issuer = { ...someone.issuer, masks: 0, brand: "visa" };
  const life = lifeOf({
    ...someone,
    issuer,
    dayLimit: Number.POSITIVE_INFINITY,
    rushes: 0,
    alarms: 0.0001,
    attention: 1,
  });
  Object.assign(life.state, { balance, spent: 0 });
  return life;
}

const chanceOf = (life: Life, of: Seen) => explain(life, of, luck.draw);

test("a charge goes through where the money is there, and fails for want of it where it is not", () => {
  assert.ok(chanceOf(lifeWith(50), seen(null)) > 0.95);
  assert.equal(chanceOf(lifeWith(5), seen(null)), 0);
  assert.ok(chanceOf(lifeWith(5), seen("51")) > 0.95);
});

test("missing funds of a life that has them are explained by leaving, after which one bill comes and one code", () => {
  const life = lifeWith(50);
  const chance = chanceOf(life, seen("51"));
  assert.ok(chance > 0.005 && chance < 0.02, String(chance));
  assert.deepEqual([life.leftAt, life.person.leaveCode], [seen("51").at, "51"]);
  assert.equal(chanceOf(life, seen("51", { at: seen(null).at + DAY_MS })), 1);
  assert.equal(chanceOf(life, seen("05", { at: seen(null).at + DAY_MS })), 0);
  assert.equal(chanceOf(life, seen("51", { billedBefore: seen(null).at })), 0);
});

test("an answer without a reason is a hold or leaving, the likelier the one by how often either happens", () => {
  const lives = Array.from({ length: 500 }, () => lifeWith(50));
  for (const life of lives) chanceOf(life, seen("05"));
  const held = lives.filter(({ state }) => state.hold !== "none").length;
  const left = lives.filter(({ leftAt }) => leftAt !== null).length;
  const refused = lives.length - held - left;
  assert.ok(held > 50 && left > 50 && refused > 50, `${held} held, ${left} left, ${refused} refused for nothing`);
});

test("another card than the one before is a new one, and the old one is never seen again", () => {
  const life = lifeWith(50);
  assert.ok(chanceOf(life, seen(null, { card: 1 })) > 0);
  assert.equal(life.state.card, 1);
  assert.equal(chanceOf(life, seen(null)), 0);
});

test("a card that expired waits for the new one, by a batch where the bank's advice says so", () => {
  const ways = Array.from({ length: 200 }, () => {
    const life = lifeWith(50);
    life.person.issuer.brand = "mastercard";
    chanceOf(life, seen("54", { advice: "01" }));
    return life.state.awaits;
  });
  assert.ok(ways.every((way) => way === "batch"));
});

test("holders type a new card in unasked, so a card that is still old after a month awaits a batch more often", () => {
  const ways = Array.from({ length: 400 }, () => {
    const life = lifeWith(50);
    chanceOf(life, seen("54"));
    return life.state.awaits;
  });
  const holders = ways.filter((way) => way === "holder").length;
  assert.ok(holders > 25 && holders < 90, String(holders));
});

test("a charge that goes through speaks against people whose cards are held often", () => {
  const often = lifeWith(50);
  often.person = { ...often.person, alarms: 0.0008 };
  const never = lifeWith(50);
  never.person = { ...never.person, alarms: 0 };
  const [held, free] = [often, never].map((life) => chanceOf(life, seen(null)));
  assert.ok(held! < 0.96 * free!, `${held} held, ${free} not`);
  assert.equal(explain(never, seen("59"), luck.draw), 0);
});

test("who signs up on a day of pay is likelier paid then, as the first bill says", () => {
  const at = FROM + 60 * DAY_MS;
  const paidOn = (later: number) => {
    const payDays = new Uint8Array(someone.payDays.length);
    for (const back of [0, 30]) payDays[at / DAY_MS - CALENDAR.firstDay + later - back] = 1;
    const life = lifeWith(50);
    life.person = { ...life.person, payDays };
    return chanceOf(life, seen(null, { signedUp: at })) / chanceOf(life, seen(null));
  };
  assert.equal(paidOn(0).toFixed(6), "15.500000");
  assert.equal(paidOn(5).toFixed(6), "0.500000");
});

test("only strict banks' blocks, and holds, refuse what is there to be paid", () => {
  assert.equal(chanceOf(lifeWith(50), seen(null, { isBlocked: true })), 0);
  const blocked = lifeWith(50);
  assert.ok(chanceOf(blocked, seen("05", { isBlocked: true })) > 0.95);
  assert.equal(blocked.state.hold, "none");
  const held = lifeWith(50);
  held.state.hold = "long";
  assert.equal(chanceOf(held, seen(null)), 0);
  assert.ok(Math.abs(chanceOf(held, seen("59")) - 0.2) < 0.02);
});

test("a rush or a full day explains its own code alone", () => {
  const rushing = lifeWith(50);
  rushing.person = { ...rushing.person, rushes: 0.004 };
  const chance = chanceOf(rushing, seen("65"));
  assert.ok(chance > 0.02 && chance < 0.1 && rushing.state.rush > 0, String(chance));
  assert.equal(chanceOf(lifeWith(50), seen("65")), 0);
  const full = lifeWith(50);
  full.person = { ...full.person, dayLimit: 10 };
  assert.equal(chanceOf(full, seen(null)), 0);
  assert.ok(chanceOf(full, seen("61")) > 0.9);
});

test("an outage says nothing of the customer", () => {
  const life = lifeWith(5);
  const before = copyOf(life);
  assert.equal(chanceOf(life, seen("91")), 1);
  assert.deepEqual(life, before);
});

test("a charge takes the money, and a decline that is read of is answered", () => {
  const paid = lifeWith(50);
  suffer(paid, seen(null), luck.draw);
  assert.equal(paid.state.balance, 30);
  const declined = lifeWith(5);
  suffer(declined, seen("51"), luck.draw);
  assert.deepEqual([declined.state.noticedFor, declined.state.missing], [1, 20]);
  declined.state.noticedFor = 9;
  suffer(declined, seen("51"), luck.draw);
  assert.equal(declined.state.noticedFor, 9, "who knows already is not told again");
  const expired = lifeWith(50);
  chanceOf(expired, seen("54"));
  suffer(expired, seen("54"), luck.draw);
  assert.equal(expired.leftAt !== null || expired.state.refusedFor === 1, true);
});
