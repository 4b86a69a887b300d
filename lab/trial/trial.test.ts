import assert from "node:assert/strict";
import { test } from "node:test";
import { DAY_MS } from "../../src/domain/durations.ts";
import { newLearnedModel } from "../../src/engine/learned/learned-model.ts";
import { fromPretrained } from "../../src/engine/learned/pretrained-model.ts";
import { setWallet, WALLETS } from "../../src/engine/rules/wallets.ts";
import { keyedUniform } from "../worlds/keyed-uniform.ts";
import { createSilentWorld } from "../worlds/silent-world.ts";
import type { Bill, Charge } from "../worlds/world.ts";
import { countBrokenRules } from "./broken-rules.ts";
import { createDunlinPolicy } from "./dunlin-policy.ts";
import { openWorld, readPretrainedModel } from "./open-world.ts";
import { oracle } from "./oracle.ts";
import { findRules, type OpenCase } from "./policy.ts";
import { runTrial } from "./run-trial.ts";
import { even } from "./scheduled-policies.ts";
import { calibrationError, computeFigures, expectedErrorIfTrue } from "./trial-figures.ts";

test("Dunlin beats six evenly spaced retries when charges report no codes, cards or countries", async () => {
  // With as many customers, Dunlin is ahead for each of six seeds, by 3 points for this one.
  const world = createSilentWorld(await openWorld("balances"));
  const evenFigures = computeFigures(runTrial(world, even(), 73, 120));
  const warm = computeFigures(runTrial(world, createDunlinPolicy(fromPretrained(readPretrainedModel())), 73, 120));
  assert.ok(warm.value > evenFigures.value, `${warm.value} against ${evenFigures.value}`);
});

test("the same seed gives the same figures", async () => {
  const run = async () =>
    computeFigures(runTrial(await openWorld("issuers"), createDunlinPolicy(newLearnedModel()), 4, 30));
  assert.deepEqual(await run(), await run());
});

/** Builds a case of one card with charges at those hours. */
function buildCase(cardBrand: string, type: string, charges: [hour: number, code?: string, advice?: string][]) {
  const start = Date.UTC(2026, 0, 1);
  const madeCharges = charges.map(
    ([hour, code, advice]): Charge => ({
      at: new Date(start + hour * 3_600_000),
      approved: false,
      paymentMethodType: type,
      cardBrand,
      cardFingerprint: "f",
      ...(code ? { networkDeclineCode: code } : {}),
      ...(advice ? { networkAdviceCode: advice } : {}),
    }),
  );
  const bill = { id: "b", amount: 100, createdAt: new Date(start), windowDays: 28, first: madeCharges[0]! } as Bill;
  const attempts = madeCharges.map((charge) => ({ bill, charge }));
  const open: OpenCase = {
    bill,
    charges: madeCharges,
    retriesLeft: 0,
    endsAt: start + 28 * DAY_MS,
    attempts,
    byCard: new Map(),
    byCustomer: new Map(),
  };
  return madeCharges.slice(1).map((charge) => ({ open, charge, choice: { at: charge.at.getTime(), chance: null } }));
}

test("the independent rule count detects the violations that the guard prevents", () => {
  const often = (count: number, hours: number) =>
    Array.from({ length: count }, (_, n): [number, string] => [n * hours, "51"]);
  assert.equal(countBrokenRules(buildCase("visa", "card", [[0, "41"], [48]])), 1);
  assert.equal(countBrokenRules(buildCase("visa", "apple_pay", [[0, "41"], [48]])), 1);
  assert.equal(countBrokenRules(buildCase("visa", "card", [[0, "51"], [48]])), 0);
  assert.equal(countBrokenRules(buildCase("mastercard", "card", [[0, "51", "03"], [48]])), 1);
  assert.equal(countBrokenRules(buildCase("mastercard", "card", [[0, "51", "26"], [47]])), 1);
  assert.equal(countBrokenRules(buildCase("mastercard", "card", [[0, "51", "26"], [48]])), 0);
  const countBroken = (brand: string, advice: string) =>
    countBrokenRules(buildCase(brand, "card", [[0, "51", advice], [999]]));
  for (const advice of ["05", "22", "41", "42"])
    assert.deepEqual(
      [countBroken("mastercard", advice), countBroken("jcb", advice), countBroken("visa", advice)],
      [1, 1, 0],
      advice,
    );
  assert.equal(countBrokenRules(buildCase("elo", "card", [[0, "51", "26"], [47]])), 1);
  assert.equal(countBrokenRules(buildCase("", "card", often(11, 2))), 1);
  for (const brand of ["amex", "American Express", "discover", "Diners", "diners_club"])
    assert.equal(countBrokenRules(buildCase(brand, "card", often(11, 2))), 0, brand);
  const prepaid = [0, 48, 96, 144].map((hour): [number, string, string] => [hour, "51", "40"]);
  assert.equal(countBrokenRules(buildCase("mastercard", "card", prepaid)), 1);
  assert.equal(countBrokenRules(buildCase("mastercard", "card", prepaid.slice(1))), 0);
  assert.equal(countBrokenRules(buildCase("visa", "card", often(21, 30))), 1);
  assert.equal(countBrokenRules(buildCase("mastercard", "card", often(11, 2))), 1);
  assert.equal(
    countBrokenRules(
      buildCase("", "sepa_debit", [
        [0, "AM04"],
        [24, "AM04"],
        [48, "AM04"],
        [72, "AM04"],
      ]),
    ),
    1,
  );
  assert.equal(
    countBrokenRules(
      buildCase("", "ach_debit", [
        [0, "R02"],
        [24, "R01"],
      ]),
    ),
    1,
  );
});

test("a bank's answer about a new card applies to an invoice that was charged on the old one", () => {
  const { open } = buildCase("mastercard", "card", [
    [0, "54"],
    [24, "54"],
  ])[0]!;
  const at = open.charges[1]!.at.getTime() + 3_600_000;
  const charge: Charge = { ...open.charges[0]!, at: new Date(at), cardFingerprint: "new", networkAdviceCode: "25" };
  const rules = findRules({ ...open, attempts: [...open.attempts, { bill: { ...open.bill, id: "other" }, charge }] });
  assert.equal(findRules(open).allow(at + 1), true);
  assert.deepEqual([rules.allow(at + 23 * 3_600_000), rules.allow(at + 25 * 3_600_000)], [false, true]);
});

test("the rules of both cards apply when another subscription's card may be a second one", () => {
  const { open } = buildCase("visa", "card", [
    [0, "51"],
    [24, "51"],
  ])[0]!;
  const bill = { ...open.bill, id: "other", subscriptionId: "another" };
  const otherCase = (hours: number, rest: Partial<Charge>) => ({
    bill,
    charge: { ...open.charges[0]!, at: new Date(+open.bill.createdAt + hours * 3_600_000), ...rest },
  });
  const lost = otherCase(25, { networkDeclineCode: "41" });
  const good = otherCase(26, { approved: true, cardFingerprint: "g" });
  const allowed = (...attempts: (typeof good)[]) =>
    findRules({ ...open, attempts: [...open.attempts, ...attempts] }).allow(+open.bill.createdAt + 3 * DAY_MS);
  assert.deepEqual([allowed(good), allowed(lost), allowed(lost, good)], [true, false, false]);
});

test("a subscription's latest card is the one charged, even if another subscription shows another card later", () => {
  const { open } = buildCase("visa", "card", [
    [0, "51"],
    [24, "51"],
  ])[0]!;
  const later = (hours: number, subscriptionId: string, rest: Partial<Charge>) => ({
    bill: { ...open.bill, id: `bill at ${hours}`, subscriptionId },
    charge: { ...open.charges[0]!, at: new Date(+open.bill.createdAt + hours * 3_600_000), ...rest },
  });
  const bill = { ...open.bill, subscriptionId: "s" };
  const lost = later(25, "s", { cardFingerprint: "y", networkDeclineCode: "41" });
  const otherCase = later(26, "another", { approved: true });
  const attempts = [...open.attempts.map(({ charge }) => ({ bill, charge })), lost, otherCase];
  assert.equal(findRules({ ...open, bill, attempts }).allow(+open.bill.createdAt + 3 * DAY_MS), false);
});

test("the policy knows how many retries the rules leave, on a prepaid card and on PayPal", () => {
  const prepaid = buildCase("mastercard", "card", [
    [0, "51", "40"],
    [24, "51", "40"],
  ])[0]!.open;
  assert.equal(findRules(prepaid).retriesMax, 1);
  // The chance grows with time: a single retry waits for the end, several begin earlier.
  const chance = (at: Date) => (+at - +prepaid.bill.createdAt) / (40 * DAY_MS);
  const world = {
    name: "w",
    bills: () => [],
    charge: () => prepaid.charges[0]!,
    approval: (_: Bill, at: Date) => chance(at),
  };
  const openCase = { ...prepaid, bill: { ...prepaid.bill, currency: "USD" }, retriesLeft: 5 };
  const otherCase = {
    ...openCase,
    attempts: openCase.attempts.map((each) => ({ ...each, charge: { ...each.charge, networkAdviceCode: "" } })),
  };
  const daysAhead = (open: OpenCase) =>
    (oracle(world).next(open, +prepaid.charges[1]!.at)!.at - +prepaid.bill.createdAt) / DAY_MS;
  assert.ok(daysAhead(openCase) > 26 && daysAhead(otherCase) < 26, `${daysAhead(openCase)}, ${daysAhead(otherCase)}`);
  const paypal = buildCase("", "paypal", [[0], [24]])[0]!.open;
  assert.equal(findRules(paypal).limits(+paypal.bill.createdAt, 6).length, 1);
  const engine = createDunlinPolicy(newLearnedModel());
  const planned = (open: OpenCase) => {
    const bill = { ...open.bill, customerId: "c", currency: "USD", subscriptionCreatedAt: open.bill.createdAt };
    engine.billed?.({ ...bill, id: "earlier", first: open.charges[0]! });
    return (
      (engine.next({ ...open, bill: { ...bill, first: open.charges[0]! } }, +open.charges.at(-1)!.at)!.at -
        +bill.createdAt) /
      DAY_MS
    );
  };
  // Six retries spread over four weeks would begin in the first days; one or two do not.
  const first = { charges: paypal.charges.slice(0, 1), attempts: paypal.attempts.slice(0, 1), retriesLeft: 6 };
  assert.ok(planned({ ...paypal, ...first }) > 5, `${planned({ ...paypal, ...first })}`);
  const [few, several] = [planned(openCase), planned(otherCase)];
  assert.ok(few > several + 2, `${few}, ${several}`);
});

test("codes count in any spelling, and a gateway's text is no code of a scheme", () => {
  const debit = (code: string) =>
    buildCase("", "sepa_debit", [
      [0, code],
      [24, code],
    ]);
  assert.deepEqual(
    ["am04", " AM04", "insufficient_funds", "ac04"].map((code) => countBrokenRules(debit(code))),
    [0, 0, 0, 1],
  );
  assert.equal(countBrokenRules(buildCase("Mastercard", "card", [[0, "57"], [48]])), 0);
  assert.equal(countBrokenRules(buildCase("Visa", "card", [[0, "r1"], [48]])), 1);
  assert.equal(countBrokenRules(buildCase("Master Card", "card", [[0, "51", "3"], [48]])), 1);
  assert.equal(countBrokenRules(buildCase("mc", "card", [[0, "57"], [48]])), 0);
  assert.equal(countBrokenRules(buildCase("", "paypal", [[0], [24], [48]])), 0);
  assert.equal(countBrokenRules(buildCase("", "paypal", [[0], [24], [48], [72], [40 * 24]])), 2);
});

/** A payment method with three attempts in any 28 days. */
function runLimited(type: string) {
  const { limits: _, ...paypal } = WALLETS.get("paypal")!;
  const limit = { attemptsMax: 3, windowMs: 28 * DAY_MS, counts: "card", words: "3", source: paypal.source } as const;
  setWallet(type, { ...paypal, limits: [limit] });
  return type;
}

test("a static policy's retry is postponed while a limit forbids it", () => {
  const type = runLimited("voucher");
  const voucher = (days: number[]) => {
    const { open } = buildCase("", type, [...days.map((day): [number, string] => [24 * day, "x"]), [24 * 9]])[0]!;
    return even().next(
      {
        ...open,
        charges: open.charges.slice(0, days.length),
        attempts: open.attempts.slice(0, days.length),
        retriesLeft: 6 - days.length + 1,
        endsAt: +open.bill.createdAt + 40 * DAY_MS,
      },
      +open.bill.createdAt + days.at(-1)! * DAY_MS,
    );
  };
  const daysAfter = (choice: { at: number } | null) => choice && (choice.at - Date.UTC(2026, 0, 1)) / DAY_MS;
  assert.ok(daysAfter(voucher([0, 4]))! < 28);
  const putOff = daysAfter(voucher([0, 4, 9]))!;
  assert.ok(putOff > 28 && putOff < 28.1, `${putOff}`);
});

test("the rules are asked about the whole millisecond of the charge when a policy chooses a fraction", () => {
  const createdAt = new Date("2026-01-01T09:00:00Z");
  const type = runLimited("coupon");
  const declined = (at: Date): Charge => ({ at, approved: false, paymentMethodType: type });
  const bill: Bill = {
    ...buildCase("", type, [[0], [24]])[0]!.open.bill,
    createdAt,
    windowDays: 40,
    first: declined(createdAt),
  };
  const world = { name: "one", bills: () => [bill], charge: (_: Bill, at: Date) => declined(at), approval: () => 0 };
  const days = [1, 2, 28 + 0.6 / DAY_MS];
  const next = ({ charges }: OpenCase, now: number) => {
    const at = +createdAt + (days[charges.length - 1] ?? 100) * DAY_MS;
    return { at: Math.max(at, now + 1), chance: null };
  };
  const { retries } = runTrial(world, { next }, 1, 1);
  assert.deepEqual(
    retries.map(({ charge }) => +charge.at - +createdAt),
    [DAY_MS, 2 * DAY_MS, 28 * DAY_MS + 1],
  );
});

test("calibration error is the mean distance between predicted probability and outcome", () => {
  const oneIn5 = Array.from({ length: 5 }, (_, n) => ({ chance: 0.2, observed: Number(n === 0) }));
  assert.ok(calibrationError(oneIn5) < 1e-9);
  assert.ok(Math.abs(calibrationError(oneIn5.map((prediction) => ({ ...prediction, observed: 1 }))) - 0.8) < 1e-9);
});

test("true probabilities show the expected calibration error for so many retries", () => {
  const runs = Array.from({ length: 200 }, (_, run) =>
    Array.from({ length: 400 }, (_, n) => {
      const chance = keyedUniform(run, n, 0, 1);
      return { chance, observed: Number(keyedUniform(run, n, 1, 1) < chance) };
    }),
  );
  const mean = (select: (run: { chance: number; observed: number }[]) => number) =>
    runs.reduce((sum, run) => sum + select(run), 0) / runs.length;
  assert.ok(Math.abs(mean(calibrationError) / mean(expectedErrorIfTrue) - 1) < 0.1);
});
