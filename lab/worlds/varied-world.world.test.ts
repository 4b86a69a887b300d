import assert from "node:assert/strict";
import { test } from "node:test";
import { createCheckedWorld } from "../trial/checked-world.ts";
import { createTimeQueue } from "../trial/time-queue.ts";
import { drawMechanism, type Mechanism } from "./varied-mechanism.ts";
import { world } from "./varied-world.ts";
import type { Bill, World } from "./world.ts";

const DAY_MS = 86_400_000;
const VARIATIONS = Array.from({ length: 16 }, (_, n) => n + 1);
const atDay = ({ createdAt }: Bill, days: number) => new Date(createdAt.getTime() + days * DAY_MS);

const RETRY_DAYS = [0.6, 2, 5];

interface Retries {
  foreseen: number;
  approved: number;
  variance: number;
}

/** Of each failed invoice until one is approved, by retry. All are foreseen at the failure. */
function retryOnDays(varied: World, seed: number, customers: number): Retries[] {
  const sums = RETRY_DAYS.map(() => ({ foreseen: 0, approved: 0, variance: 0 }));
  const waiting = createTimeQueue<{ bill: Bill; n: number }>();
  const retryUntil = (time: number) => {
    while (waiting.nextAt() <= time) {
      const { bill, n } = waiting.pop()!;
      const { approved } = varied.charge(bill, atDay(bill, RETRY_DAYS[n]!));
      sums[n]!.approved += Number(approved);
      if (!approved && n + 1 < RETRY_DAYS.length)
        waiting.push(atDay(bill, RETRY_DAYS[n + 1]!).getTime(), { bill, n: n + 1 });
    }
  };
  for (const bill of varied.bills(seed, customers)) {
    retryUntil(bill.createdAt.getTime());
    if (bill.first.approved) continue;
    const times = RETRY_DAYS.map((days) => atDay(bill, days));
    const chances = times.map((at, n) => varied.approval(bill, at, times.slice(0, n)));
    let isMade = 1;
    chances.forEach((chance, n) => {
      const foreseen = isMade * chance;
      isMade *= 1 - chance;
      sums[n]!.foreseen += foreseen;
      sums[n]!.variance += foreseen * (1 - foreseen);
    });
    waiting.push(times[0]!.getTime(), { bill, n: 0 });
  }
  retryUntil(Number.MAX_VALUE);
  return sums;
}

test("every variation is a valid world, declines 10% to 15% of first charges and repeats for the same seed", () => {
  const runs = VARIATIONS.map((variation) => {
    const run = (seed: number) => retryOnDays(createCheckedWorld(world({ variation })), seed, 60);
    const first = run(1);
    assert.deepEqual(run(1), first);
    assert.notDeepEqual(run(2), first);
    const bills = [...world({ variation }).bills(1001, 1500)];
    const declined = bills.filter(({ first }) => !first.approved).length / bills.length;
    assert.ok(declined >= 0.1 && declined <= 0.15, `${variation}: ${declined}`);
    for (const { windowDays } of bills) assert.ok(windowDays >= 3 && windowDays <= 28);
    return JSON.stringify(first);
  });
  assert.equal(new Set(runs).size, VARIATIONS.length);
});

test("sixteen variations differ in whom declines harm, in top-ups, windows and the number of merchants", () => {
  const count = (select: (mechanism: Mechanism) => unknown) =>
    new Set(VARIATIONS.map((variation) => select(drawMechanism(variation)))).size;
  assert.equal(
    count(({ harm }) => harm.scope),
    3,
  );
  assert.equal(
    count(({ topUp }) => topUp.urge > 0),
    2,
  );
  assert.ok(count(({ windowDays }) => windowDays.join()) > 8);
  assert.ok(count(({ merchants }) => merchants) > 5);
});

test("approvals are as likely as foreseen at the failure, for the first retry and for later ones after failed retries", () => {
  const deviationOf = ({ foreseen, approved, variance }: Retries) => (approved - foreseen) / Math.sqrt(variance);
  const all = VARIATIONS.map((variation) => retryOnDays(world({ variation }), 3, 700));
  all.forEach((retries, n) => {
    for (const each of retries) {
      assert.ok(each.approved > 30, `variation ${n + 1}: ${each.approved}`);
      assert.ok(Math.abs(deviationOf(each)) < 3.5, `variation ${n + 1}: ${each.approved}, foreseen ${each.foreseen}`);
    }
  });
  RETRY_DAYS.forEach((days, n) => {
    const sum = (key: keyof Retries) => all.reduce((total, retries) => total + retries[n]![key], 0);
    const together = { foreseen: sum("foreseen"), approved: sum("approved"), variance: sum("variance") };
    assert.ok(Math.abs(deviationOf(together)) < 2.5, `day ${days}: ${JSON.stringify(together)}`);
  });
});

test("a failed retry lowers chances where declines do harm or causes last, and raises them where customers answer with money", () => {
  const compare = (matches: (mechanism: Mechanism) => boolean) => {
    const variation = Array.from({ length: 500 }, (_, n) => n).find((each) => matches(drawMechanism(each)))!;
    const varied = world({ variation });
    const differences: number[] = [];
    for (const bill of varied.bills(2, 300)) {
      if (bill.first.approved) continue;
      const at = atDay(bill, 3);
      differences.push(varied.approval(bill, at, [atDay(bill, 2)]) - varied.approval(bill, at));
    }
    const shareWhere = (isCounted: (difference: number) => boolean) =>
      differences.filter(isCounted).length / differences.length;
    return { raised: shareWhere((each) => each > 1e-9), lowered: shareWhere((each) => each < -0.01) };
  };
  const isHarmful = ({ strength, halfLifeDays }: Mechanism["harm"]) => strength > 0.5 && halfLifeDays > 3;
  for (const scope of ["customer", "issuer"]) {
    const { raised, lowered } = compare(
      ({ harm, topUp }) => harm.scope === scope && isHarmful(harm) && topUp.urge === 0,
    );
    assert.equal(raised, 0);
    assert.ok(lowered > 0.4, `${scope}: ${lowered}`);
  }
  const lasting = compare(
    ({ harm, topUp, failing }) => harm.scope === "none" && topUp.urge === 0 && failing.hold > 0.02,
  );
  assert.equal(lasting.raised, 0);
  assert.ok(lasting.lowered > 0.1 && lasting.lowered < 0.4, `${lasting.lowered}`);
  assert.ok(compare(({ harm, topUp }) => harm.scope === "none" && topUp.urge > 1).raised > 0.1);
});
