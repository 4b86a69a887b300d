import assert from "node:assert/strict";
import { test } from "node:test";
import type { Bill, Charge, World } from "../worlds/world.ts";
import { createCheckedWorld } from "./checked-world.ts";
import { comparePolicies } from "./compare-policies.ts";
import { readPretrainedModel, WORLDS } from "./open-world.ts";

const AT = new Date("2026-03-02T09:00:00Z");
const CHARGE: Charge = { at: AT, approved: false, paymentMethodType: "card", networkDeclineCode: "51" };
const BILL: Bill = {
  id: "b1",
  customerId: "c1",
  subscriptionId: "s1",
  merchantKey: "m",
  amount: 1900,
  currency: "EUR",
  planId: "p",
  billingPeriod: 1,
  billingPeriodUnit: "MONTH",
  subscriptionCreatedAt: AT,
  createdAt: AT,
  windowDays: 14,
  first: CHARGE,
};
const worldOf = (over: Record<string, unknown>): World =>
  createCheckedWorld({ name: "w", bills: () => [BILL], charge: () => CHARGE, approval: () => 0.5, ...over });
const throwError = (message: string) => () => {
  throw new Error(message);
};
const throwsText = () => {
  throw "a text";
};
function* generateOneThenThrow() {
  yield BILL;
  yield (undefined as unknown as Bill[])[0];
}
const billsOf = (...bills: unknown[]) => [...worldOf({ bills: () => bills }).bills(1, 1)];

test("checking a valid world changes none of its answers", () => {
  const names = ["even"];
  const world = WORLDS.balances!();
  const before = comparePolicies(world, 5, 40, readPretrainedModel(), names);
  assert.deepEqual(comparePolicies(createCheckedWorld(world), 5, 40, readPretrainedModel(), names), before);
});

test("an invoice of 0 that was paid at once is passed on like any other", () => {
  const paid = ({ first }: Bill, n: number) => first.approved && n % 3 === 0;
  const world = WORLDS.balances!();
  const some = createCheckedWorld({
    ...world,
    bills: (seed: number, customers: number) =>
      [...world.bills(seed, customers)].map((bill, n) => (paid(bill, n) ? { ...bill, amount: 0 } : bill)),
    charge: (bill: Bill, at: Date) => world.charge(bill, at),
    approval: (bill: Bill, at: Date, tried?: readonly Date[]) => world.approval(bill, at, tried),
  });
  const { policies, cases } = comparePolicies(some, 5, 60, readPretrainedModel(), ["even"]);
  assert.ok(cases > 20);
  assert.ok(policies.warm!.value > 0.3 && policies.warm!.brokenRules === 0, JSON.stringify(policies.warm));
});

test("an error of a world names its place", () => {
  const faults: [() => unknown, RegExp][] = [
    [() => createCheckedWorld(undefined), /returned undefined, not a world/],
    [() => worldOf({ approval: 1 }), /no method approval/],
    [
      () => billsOf({ ...BILL, amount: 19.5 }),
      /^bill b1: amount must be a whole number of minor units, 1 or more, not 19.5$/,
    ],
    [
      () => billsOf({ ...BILL, amount: -1900, first: { ...CHARGE, approved: true } }),
      /^bill b1: amount must be a whole number of minor units, 0 or more, not -1900$/,
    ],
    [() => billsOf({ ...BILL, id: "" }), /^bill number 1: id must be a text, not ''$/],
    [
      () => billsOf({ ...BILL, windowDays: Number.NaN }),
      /^bill b1: windowDays must be above 0 and at most 366, not NaN$/,
    ],
    [() => billsOf({ ...BILL, createdAt: "2026-03-02" }), /^bill b1: createdAt must be a date, not '2026-03-02'$/],
    [() => billsOf({ ...BILL, first: undefined }), /^bill b1: first is undefined, not a charge$/],
    [
      () => billsOf({ ...BILL, first: { ...CHARGE, approved: "no" } }),
      /^bill b1: first: approved must be true or false/,
    ],
    [
      () => billsOf({ ...BILL, billingPeriod: Number.POSITIVE_INFINITY }),
      /^bill b1: billingPeriod must be a number above 0/,
    ],
    [
      () => [...worldOf({ bills: throwError("no bills") }).bills(1, 1)],
      /^bills\(\) threw Error: no bills, at .*checked-world/,
    ],
    [
      () => [...worldOf({ bills: generateOneThenThrow }).bills(1, 1)],
      /^bills\(\), after 1 of them, threw TypeError: .*, at .*generateOneThenThrow.*checked-world/,
    ],
    [
      () => worldOf({ charge: throwError("no charge") }).charge(BILL, AT),
      /^charge\(\) of bill b1 at 2026-03-02T09:00:00.000Z threw Error: no charge, at /,
    ],
    [
      () => worldOf({ approval: throwError("none") }).approval(BILL, AT),
      /^approval\(\) of bill b1 at 2026-03-02T09:00:00.000Z threw Error: none, at /,
    ],
    [
      () => worldOf({ charge: () => JSON.parse("{a") }).charge(BILL, AT),
      /threw SyntaxError: .*, at .*checked-world\.test\.ts:\d+/,
    ],
    [() => worldOf({ charge: throwsText }).charge(BILL, AT), /^charge\(\) of bill b1 at .* threw 'a text'$/],
    [() => billsOf(BILL, BILL), /^bill b1: its id belongs to an earlier bill$/],
    [
      () =>
        billsOf(
          { ...BILL, id: "b0", createdAt: new Date(+AT + 9e6), first: { ...CHARGE, at: new Date(+AT + 9e6) } },
          BILL,
        ),
      /^bill b1: createdAt, 2026-03-02T09:00:00.000Z, is before 2026-03-02T11:30:00.000Z, the date of the earlier bill b0/,
    ],
    [() => worldOf({ charge: () => undefined }).charge(BILL, AT), /^charge\(\) of bill b1 is undefined/],
    [() => worldOf({}).charge(BILL, new Date(+AT + 9e6)), /at must be the time of the charge, 2026-03-02T11:30/],
    [
      () => worldOf({ approval: () => 1.2 }).approval(BILL, AT),
      /^approval\(\) of bill b1 at 2026.*from 0 to 1, not 1.2$/,
    ],
  ];
  for (const [act, message] of faults) assert.throws(act, { name: "WorldFault", message });
});

test("a finished generator is refused as a new year, and a chance above 1 by rounding counts as 1", () => {
  const used = (function* () {
    yield BILL;
  })();
  const world = worldOf({ bills: () => used, approval: () => 1 + 1e-9 });
  assert.equal([...world.bills(1, 1)].length, 1);
  assert.throws(() => [...world.bills(1, 1)], /same iterator again/);
  assert.equal(world.approval(BILL, AT), 1);
  assert.deepEqual(billsOf({ ...BILL, first: { ...CHARGE, cardBrand: null } }).length, 1);
});

test("nulls and empty texts are left out, and the world still receives its own invoices", () => {
  for (const blank of [null, ""]) {
    const said = { ...CHARGE, cardBrand: "visa", cardFingerprint: blank } as Charge;
    const own = { ...BILL, first: said };
    const known = (bill: Bill) => {
      assert.equal(bill, own);
      return said;
    };
    const world = worldOf({
      bills: () => [own],
      charge: known,
      approval: (bill: Bill) => Number(known(bill) === said),
    });
    const [bill] = [...world.bills(1, 1)] as [Bill];
    const told = { ...CHARGE, cardBrand: "visa" };
    assert.deepEqual([bill.first, world.charge(bill, AT), world.approval(bill, AT)], [told, told, 1]);
  }
});
