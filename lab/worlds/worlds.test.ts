import assert from "node:assert/strict";
import { test } from "node:test";
import { openWorld, SIMPLE_WORLDS, WORLDS } from "../trial/open-world.ts";
import { type Account, advanceAccount, coverageChances } from "./account-balance.ts";

const DAY_MS = 86_400_000;
const NAMES = [...Object.keys(WORLDS), ...Object.keys(SIMPLE_WORLDS)];

test("every world declines 10% to 15% of first charges, yields invoices in order, and repeats for the same seed", async () => {
  for (const name of NAMES) {
    const world = await openWorld(name);
    const run = () =>
      [...world.bills(5, 100)].map(({ id, first }) => `${id} ${first.approved} ${first.networkDeclineCode}`);
    const bills = [...world.bills(5, 400)];
    const declined = bills.filter(({ first }) => !first.approved).length / bills.length;
    assert.ok(declined >= 0.1 && declined <= 0.15, `${name}: ${declined}`);
    for (let n = 1; n < bills.length; n++) assert.ok(bills[n]!.createdAt >= bills[n - 1]!.createdAt);
    assert.deepEqual(run(), run());
  }
});

test("declines in the balances world have the shares of codes that the guide states", async () => {
  const world = await openWorld("balances");
  const declined = [...world.bills(3, 1500)].filter(({ first }) => !first.approved);
  const share = (...codes: string[]) =>
    declined.filter(({ first }) => codes.includes(first.networkDeclineCode!)).length / declined.length;
  const isWithin = (value: number, low: number, high: number) => assert.ok(value >= low && value <= high, `${value}`);
  isWithin(share("51"), 0.28, 0.55);
  isWithin(share("05", "59", "62"), 0.2, 0.45);
  isWithin(share("54", "14"), 0.04, 0.12);
  isWithin(share("41", "43", "46", "R1"), 0.01, 0.05);
  isWithin(share("91", "96"), 0.02, 0.1);
  isWithin(share("61", "65"), 0.01, 0.06);
});

test("an account's chances match its outcomes over many lives, and after a failed attempt", () => {
  const account = (key: number): Account => ({
    seed: 9,
    key,
    rhythm: { kind: "dated", days: [15] },
    pay: 8,
    spending: 5,
    postedIn: 1,
    paidUntil: Number.POSITIVE_INFINITY,
    topUp: 0.01,
    step: 20_550 * 3,
    level: 2,
  });
  const later = 20_550 * 3 + 45;
  const failedStep = 20_550 * 3 + 20;
  const foreseen = coverageChances(account(0), 4, later, []).at(-1)!;
  const afterVain = coverageChances(account(0), 4, later, [{ step: failedStep, approvalRate: 1 }]).at(-1)!;
  let coveredCount = 0;
  let vainCount = 0;
  let vainEnough = 0;
  for (let key = 0; key < 4000; key++) {
    const life = account(key);
    advanceAccount(life, failedStep);
    const wasVain = life.level < 4;
    advanceAccount(life, later);
    coveredCount += Number(life.level >= 4);
    vainCount += Number(wasVain);
    vainEnough += Number(wasVain && life.level >= 4);
  }
  assert.ok(Math.abs(coveredCount / 4000 - foreseen) < 0.025, `${coveredCount / 4000}, foreseen ${foreseen}`);
  assert.ok(Math.abs(vainEnough / vainCount - afterVain) < 0.04, `${vainEnough / vainCount}, foreseen ${afterVain}`);
});

test("a world repeats its answer when an invoice is charged twice at the same time", async () => {
  for (const name of NAMES) {
    const world = await openWorld(name);
    const answers = () => {
      const lines: string[] = [];
      for (const bill of world.bills(2, 60)) {
        if (bill.first.approved) continue;
        const at = new Date(bill.createdAt.getTime() + 3 * DAY_MS);
        const chance = world.approval(bill, at);
        assert.ok(chance >= 0 && chance <= 1, `${name}: ${chance}`);
        lines.push(`${bill.id} ${chance}`);
      }
      return lines;
    };
    assert.deepEqual(answers(), answers());
  }
});

test("a simple-law world obeys its law, whatever else is asked meanwhile", async () => {
  const night = await openWorld("crude:night", { codes: false });
  let byNight = 0;
  let byDay = 0;
  for (const bill of night.bills(4, 600)) {
    if (bill.first.approved) continue;
    assert.equal(bill.first.networkDeclineCode, undefined);
    const midnight = Math.ceil(bill.createdAt.getTime() / DAY_MS) * DAY_MS;
    const at = (hours: number) => new Date(midnight + hours * 3_600_000);
    byDay += Number(night.charge(bill, at(12)).approved);
    byNight += Number(night.charge(bill, at(27)).approved);
  }
  assert.ok(byNight > 250 && byDay < 40, `${byNight} by night, ${byDay} by day`);
  await assert.rejects(openWorld("crude:night", { law: "gravity" }), /law is one of flat, night/);
});

test("a simple-law world reports countries and banks when its law distinguishes them, and otherwise one country and no bank", async () => {
  const placesOf = async (name: string) => {
    const world = await openWorld(name);
    const cards = [...world.bills(4, 40)].map(({ first }) => `${first.cardCountry} ${first.cardIssuer}`);
    return [...new Set(cards)].sort();
  };
  assert.deepEqual(await placesOf("crude:banks"), ["DE bank 0", "DE bank 2", "US bank 1", "US bank 3"]);
  assert.deepEqual(await placesOf("crude:flat"), ["US undefined"]);
});

test("a custom world opens from its module with options, and a module without a world is refused", async () => {
  const path = new URL("./issuer-risk-world.ts", import.meta.url).pathname;
  assert.equal((await openWorld(path, { memory: 2 })).name, "issuers");
  await assert.rejects(openWorld(path, { memory: "much" }), /memory takes a number/);
  await assert.rejects(
    openWorld(new URL("./keyed-uniform.ts", import.meta.url).pathname),
    /exports no function named world/,
  );
});
