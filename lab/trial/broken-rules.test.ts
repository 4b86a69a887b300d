import assert from "node:assert/strict";
import { test } from "node:test";
import { DAY_MS, HOUR_MS } from "../../src/domain/durations.ts";
import type { Bill, Charge } from "../worlds/world.ts";
import { countBrokenRules } from "./broken-rules.ts";

const START = Date.UTC(2026, 0, 1);

/** Counts the rules broken by the later charges of an invoice, all declined, so many hours after the first one. */
function countBroken(codes: Omit<Charge, "at" | "approved">, hours: readonly number[]): number {
  const charges = hours.map(
    (hour): Charge => ({ ...codes, at: new Date(START + hour * HOUR_MS), approved: false, cardFingerprint: "f" }),
  );
  const bill = { id: "b", amount: 100, createdAt: new Date(START), windowDays: 200, first: charges[0]! } as Bill;
  const attempts = charges.map((charge) => ({ bill, charge }));
  const attemptMaps = { attempts, byCard: new Map(), byCustomer: new Map() };
  const open = { bill, charges, retriesLeft: 0, endsAt: START + 200 * DAY_MS, ...attemptMaps };
  const retries = charges.slice(1);
  return countBrokenRules(retries.map((charge) => ({ open, charge, choice: { at: +charge.at, chance: null } })));
}

const buildCard = (cardBrand: string, networkAdviceCode?: string) => ({
  paymentMethodType: "card",
  cardBrand,
  networkDeclineCode: "51",
  ...(networkAdviceCode !== undefined && { networkAdviceCode }),
});

test("the 36th declined attempt on a Mastercard in 30 days and the 21st on a Visa break a rule, and none before", () => {
  const hoursEvery = (hours: number, count: number) => Array.from({ length: count }, (_, n) => n * hours);
  assert.deepEqual(
    [
      countBroken(buildCard("mastercard"), hoursEvery(20, 35)),
      countBroken(buildCard("mastercard"), hoursEvery(20, 36)),
    ],
    [0, 1],
  );
  assert.deepEqual(
    [countBroken(buildCard("visa"), hoursEvery(30, 20)), countBroken(buildCard("visa"), hoursEvery(30, 21))],
    [0, 1],
  );
  assert.equal(countBroken(buildCard("visa"), hoursEvery(37, 40)), 0);
});

test("an attempt breaks each wait that Mastercard advises when it comes before the end, but not at the end", () => {
  const hoursOf = { "02": 72, 24: 1, 25: 24, 26: 48, 27: 96, 28: 144, 29: 192, 30: 240 };
  for (const [advice, hours] of Object.entries(hoursOf))
    assert.deepEqual(
      [hours - 0.1, hours].map((hour) => countBroken(buildCard("mastercard", advice), [0, hour])),
      [1, 0],
      advice,
    );
});

test("a debit breaks a rule when it is presented after its scheme's days, or again after a final code", () => {
  const schemes = [
    ["sepa_debit", "AM04", "AC04", 42],
    ["ach_debit", "R09", "R02", 180],
    ["bacs_debit", "0", "B", 31],
  ] as const;
  for (const [paymentMethodType, code, final, days] of schemes) {
    const after = (networkDeclineCode: string, day: number) =>
      countBroken({ paymentMethodType, networkDeclineCode }, [0, day * 24]);
    const found = [after(code, days), after(code, days + 0.1), after(final, 1)];
    assert.deepEqual(found, [0, 1, 1], paymentMethodType);
  }
});
