import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { DAY_MS, HOUR_MS } from "../../domain/durations.ts";
import type { LedgerEntry } from "./attempt-ledger.ts";
import { findCardNetwork } from "./card-networks.ts";
import { buildGuard, findForbiddingRule, forbidsAnyTime, type Guard, type ProposedAttempt } from "./guard.ts";
import { isCard } from "./instrument.ts";
import { type DeclineCodes, findDeclineGroup } from "./interpret-decline.ts";

const allowedAt = (guard: Guard, at: Date) => findForbiddingRule(guard, at.getTime()) === null;
const allowedMoments = (guard: Guard, candidates: readonly Date[]) => candidates.filter((at) => allowedAt(guard, at));

const START = Date.UTC(2026, 0, 1);
const daysAfterStart = (days: number) => new Date(START + days * DAY_MS);
const NOTHING: DeclineCodes = {
  networkDeclineCode: null,
  networkAdviceCode: null,
  gatewayCode: null,
  declineCategory: null,
};

const buildEntry = (at: Date, rest: Partial<LedgerEntry> = {}): LedgerEntry => ({
  at,
  amount: 1000,
  approved: false,
  onThisInvoice: true,
  onPresentCard: true,
  codes: null,
  ...rest,
});
const buildAttempt = (
  ledger: LedgerEntry[],
  network: string | null,
  type: string | null = "card",
): ProposedAttempt => ({
  instrument: { paymentMethodType: type, network, cardCountry: null },
  amount: 1000,
  ledger,
  firstTriedAt: null,
  earlyMs: 0,
});

test("a Visa card at its 30-day limit waits until the oldest attempt leaves the window", () => {
  const ledger = Array.from({ length: 20 }, (_, index) => buildEntry(daysAfterStart(index / 2)));
  assert.deepEqual(
    allowedMoments(buildGuard(buildAttempt(ledger, "visa")), [
      daysAfterStart(16),
      daysAfterStart(30),
      daysAfterStart(30.1),
    ]),
    [daysAfterStart(30.1)],
  );
});

test("an attempt before others already requested counts in their windows too", () => {
  const ledger = Array.from({ length: 20 }, (_, index) =>
    buildEntry(daysAfterStart(20 + index / 10), { approved: null }),
  );
  const guard = buildGuard(buildAttempt(ledger, "visa"));
  assert.equal(allowedAt(guard, daysAfterStart(1)), false);
  assert.equal(allowedAt(guard, daysAfterStart(-9)), true);
});

test("a card keeps its network's rules behind a wallet and under another name", () => {
  const stolen = buildEntry(daysAfterStart(0), {
    codes: { ...NOTHING, networkDeclineCode: "43", networkAdviceCode: "03" },
  });
  const today = Array.from({ length: 10 }, (_, index) => buildEntry(daysAfterStart(index / 24)));
  for (const type of ["apple_pay", "google_pay", "link", "credit_card", "debit_card"]) {
    assert.ok(buildGuard(buildAttempt([stolen], "visa", type)).block, type);
    assert.equal(allowedAt(buildGuard(buildAttempt(today, "mastercard", type)), daysAfterStart(0.9)), false, type);
    assert.equal(
      allowedAt(buildGuard(buildAttempt(today, "a brand that nobody knows", type)), daysAfterStart(0.9)),
      false,
      type,
    );
  }
  assert.ok(buildGuard(buildAttempt([stolen], null, "debit_card")).block);
  for (const none of [null, ""]) assert.equal(buildGuard(buildAttempt([stolen], none, "boleto")).block, null);
});

test("a payment type that holds only cards is a card of an unknown network when no brand is reported", () => {
  const stolen = buildEntry(daysAfterStart(0), { codes: { ...NOTHING, networkDeclineCode: "43" } });
  const today = Array.from({ length: 10 }, (_, index) => buildEntry(daysAfterStart(index / 24)));
  const names = `apple_pay applepay apple_pay_card google_pay googlepay paywithgoogle android_pay_card samsung_pay_card
    visa_checkout_card scheme`;
  for (const type of names.split(/\s+/)) {
    assert.ok(buildGuard(buildAttempt([stolen], null, type)).block, type);
    assert.match(
      findForbiddingRule(buildGuard(buildAttempt(today, "", type)), +daysAfterStart(0.9))?.sentence ?? "",
      /not known/,
      type,
    );
  }
});

test("a payment method with its own rules keeps them, whatever card is behind it", () => {
  const three = [0, 3, 6].map((at) => buildEntry(daysAfterStart(at)));
  assert.match(buildGuard(buildAttempt(three, "visa", "paypal")).usedUp?.sentence ?? "", /PayPal/);
  assert.match(buildGuard(buildAttempt(three, "visa", "sepa_debit")).usedUp?.sentence ?? "", /SEPA/);
});

test("each invoice has its own attempts on PayPal, however soon the next one is billed and however long the first stays open", () => {
  const earlier = [0, 1, 2].map((at) => buildEntry(daysAfterStart(at), { onThisInvoice: false }));
  const own = [7, 8, 60].map((at) => buildEntry(daysAfterStart(at)));
  const guard = buildGuard(buildAttempt([...earlier, ...own.slice(0, 2)], "", "paypal"));
  assert.deepEqual([guard.usedUp, allowedAt(guard, daysAfterStart(60))], [null, true]);
  for (const name of ["paypal", "paypal_account", "paypal_express_checkout"])
    assert.notEqual(buildGuard(buildAttempt(own, "", name)).usedUp, null, name);
});

test("attempts with another amount count toward Mastercard's daily limit, not its monthly one", () => {
  const other = Array.from({ length: 40 }, (_, index) => buildEntry(daysAfterStart(index / 3), { amount: 5 }));
  assert.equal(allowedAt(buildGuard(buildAttempt(other, "mastercard")), daysAfterStart(13.5)), true);
  const today = Array.from({ length: 10 }, (_, index) => buildEntry(daysAfterStart(index / 24), { amount: 5 }));
  assert.equal(allowedAt(buildGuard(buildAttempt(today, "Mastercard")), daysAfterStart(0.9)), false);
});

test("a card of an unknown network keeps the strictest limit of each kind", () => {
  const limits = findCardNetwork("cartes bancaires").limits.map((limit) => [
    limit.attemptsMax,
    limit.windowMs / DAY_MS,
  ]);
  assert.deepEqual(limits, [
    [10, 1],
    [20, 30],
  ]);
  assert.match(
    findForbiddingRule(
      buildGuard(
        buildAttempt(
          Array.from({ length: 10 }, () => buildEntry(daysAfterStart(0))),
          null,
        ),
      ),
      daysAfterStart(0.5).getTime(),
    )!.sentence,
    /not known/,
  );
});

test("an attempt is allowed only when no rolling window that contains it is overfull, checked by brute force", () => {
  const hours = fc.integer({ min: 0, max: 60 * 24 });
  const attempts = fc.array(
    fc.record({ hour: hours, amount: fc.constantFrom(1000, 5), approved: fc.constantFrom(false, null, true) }),
    {
      maxLength: 60,
    },
  );
  const network = fc.constantFrom("visa", "mastercard", "amex", "discover", null);
  fc.assert(
    fc.property(attempts, hours, network, fc.boolean(), (made, hour, brand, dense) => {
      // Half of the runs place attempts close together; otherwise limits are rarely reached.
      const scale = dense ? HOUR_MS / 20 : HOUR_MS;
      const ledger = made.map((each) => buildEntry(new Date(START + each.hour * scale), each));
      const at = START + hour * scale;
      const guard = buildGuard(buildAttempt(ledger, brand));
      const isAllowed = allowedAt(guard, new Date(at));
      assert.ok(isAllowed || forbidsAnyTime(guard));
      const isSound = findCardNetwork(brand).limits.every((limit) => {
        const times = ledger
          .filter((each) => each.approved !== true && (limit.counts === "card" || each.amount === 1000))
          .map((each) => +each.at);
        // All windows that contain `at` and begin or end at an attempt; these include the fullest ones.
        const starts = [at, at - limit.windowMs, ...times, ...times.map((time) => time - limit.windowMs)];
        return starts
          .filter((start) => start <= at && at <= start + limit.windowMs)
          .every(
            (start) =>
              1 + times.filter((time) => start <= time && time <= start + limit.windowMs).length <= limit.attemptsMax,
          );
      });
      assert.equal(isAllowed, isSound);
    }),
    { numRuns: 2000 },
  );
});

test("an attempt that may be early counts from its earliest time", () => {
  const ledger = Array.from({ length: 20 }, () => buildEntry(daysAfterStart(0)));
  const guard = buildGuard({ ...buildAttempt(ledger, "visa"), earlyMs: DAY_MS });
  assert.deepEqual(allowedMoments(guard, [daysAfterStart(30.5), daysAfterStart(31.5)]), [daysAfterStart(31.5)]);
});

test("the same card is never charged again after a code that Visa blocks, but another one is", () => {
  const codes = { ...NOTHING, networkDeclineCode: "14" };
  assert.equal(
    allowedAt(buildGuard(buildAttempt([buildEntry(daysAfterStart(0), { codes })], "visa")), daysAfterStart(300)),
    false,
  );
  assert.equal(
    allowedAt(
      buildGuard(buildAttempt([buildEntry(daysAfterStart(0), { codes, onPresentCard: false })], "visa")),
      daysAfterStart(1),
    ),
    true,
  );
});

test("a card approved since another invoice's block is charged again, 30 days after that decline at the earliest", () => {
  const guardAfter = (network: string, codes: Partial<DeclineCodes>, ...ledger: LedgerEntry[]) =>
    buildGuard(
      buildAttempt(
        [buildEntry(daysAfterStart(0), { codes: { ...NOTHING, ...codes }, onThisInvoice: false }), ...ledger],
        network,
      ),
    );
  const paid = buildEntry(daysAfterStart(20), { approved: true, onThisInvoice: false, clears: true });
  const stops = [
    ["visa", { networkDeclineCode: "57" }],
    ["mastercard", { networkAdviceCode: "03" }],
  ] as const;
  for (const [network, codes] of stops) {
    assert.ok(guardAfter(network, codes).block);
    const liftedGuard = guardAfter(network, codes, paid);
    assert.deepEqual(allowedMoments(liftedGuard, [daysAfterStart(29.9), daysAfterStart(30)]), [daysAfterStart(30)]);
    assert.match(
      liftedGuard.notBefore!.sentence,
      /A later charge was approved, so Dunlin retries the card, but not within 30 days/,
    );
    // A payment does not clear the card if the card is in doubt, or if it came before or together with the decline.
    assert.ok(guardAfter(network, codes, { ...paid, clears: false }).block);
    assert.ok(guardAfter(network, codes, { ...paid, at: daysAfterStart(-1) }).block);
    assert.ok(guardAfter(network, codes, { ...paid, at: daysAfterStart(0) }).block);
    // The decline of a substitute card says nothing about the card that was approved.
    const standIn = { paymentMethodType: "card", network, cardCountry: null };
    const ofStandIn = buildEntry(daysAfterStart(0), { codes: { ...NOTHING, ...codes }, onThisInvoice: false, standIn });
    assert.ok(buildGuard(buildAttempt([ofStandIn, paid], network)).block);
  }
  assert.ok(
    guardAfter("visa", { networkDeclineCode: "R1" }, paid).block,
    "a consent that was revoked is not given anew",
  );
  assert.ok(guardAfter("mastercard", { networkAdviceCode: "21" }, paid).block);
});

test("an invoice's own block stands, whatever was approved since", () => {
  const codes = { ...NOTHING, networkDeclineCode: "57" };
  const paid = buildEntry(daysAfterStart(20), { approved: true, onThisInvoice: false, clears: true });
  assert.ok(buildGuard(buildAttempt([buildEntry(daysAfterStart(0), { codes }), paid], "visa")).block);
});

test("a substitute card's declines follow the rules of its own network", () => {
  const guard = (network: string, standIn: string, codes: Partial<DeclineCodes>) => {
    const made = { paymentMethodType: "card", network: standIn, cardCountry: null };
    return buildGuard(
      buildAttempt([buildEntry(daysAfterStart(0), { codes: { ...NOTHING, ...codes }, standIn: made })], network),
    );
  };
  assert.match(guard("mastercard", "visa", { networkDeclineCode: "57" }).block!.sentence, /^Visa does not allow/);
  assert.equal(guard("visa", "mastercard", { networkDeclineCode: "57" }).block, null);
  assert.equal(guard("visa", "mastercard", { networkAdviceCode: "25" }).notBefore?.at, +daysAfterStart(1));
});

test("Mastercard's advice blocks a card, or sets a wait", () => {
  const advised = (networkAdviceCode: string) =>
    buildGuard(
      buildAttempt([buildEntry(daysAfterStart(0), { codes: { ...NOTHING, networkAdviceCode } })], "mastercard"),
    );
  for (const code of ["03", "05", "21", "22", "41", "42"])
    assert.equal(allowedAt(advised(code), daysAfterStart(400)), false, code);
  const waits = { "02": 3, "24": 1 / 24, "25": 1, "26": 2, "27": 4, "28": 6, "29": 8, "30": 10 };
  for (const [code, days] of Object.entries(waits)) {
    assert.equal(allowedAt(advised(code), new Date(+daysAfterStart(days) - 1)), false, code);
    assert.equal(allowedAt(advised(code), daysAfterStart(days)), true, code);
  }
});

test("a prepaid card that cannot be topped up is given up after three declines", () => {
  const codes = { ...NOTHING, networkAdviceCode: "40" };
  const declines = (count: number) =>
    Array.from({ length: count }, (_, index) => buildEntry(daysAfterStart(index), { codes }));
  assert.equal(allowedAt(buildGuard(buildAttempt(declines(2), "mastercard")), daysAfterStart(9)), true);
  assert.equal(allowedAt(buildGuard(buildAttempt(declines(3), "mastercard")), daysAfterStart(9)), false);
  assert.deepEqual(
    [0, 1, 2, 3].map((count) => buildGuard(buildAttempt(declines(count), "mastercard")).attemptsLeft?.count),
    [undefined, 2, 1, undefined],
  );
});

test("SEPA and ACH debits are presented at most twice again, within a limited time", () => {
  for (const type of ["sepa_debit", "ach_debit"]) {
    assert.equal(
      allowedAt(
        buildGuard(buildAttempt([buildEntry(daysAfterStart(0)), buildEntry(daysAfterStart(5))], null, type)),
        daysAfterStart(9),
      ),
      true,
    );
    assert.equal(
      allowedAt(
        buildGuard(
          buildAttempt(
            [buildEntry(daysAfterStart(0)), buildEntry(daysAfterStart(5)), buildEntry(daysAfterStart(9))],
            null,
            type,
          ),
        ),
        daysAfterStart(20),
      ),
      false,
    );
  }
  // The Bacs rules give no number.
  const daily = Array.from({ length: 20 }, (_, n) => buildEntry(daysAfterStart(n)));
  assert.equal(allowedAt(buildGuard(buildAttempt(daily, null, "bacs_debit")), daysAfterStart(20)), true);
  const last = { sepa_debit: 42, ach_debit: 180, bacs_debit: 28 };
  for (const [type, days] of Object.entries(last)) {
    const guard = buildGuard(buildAttempt([buildEntry(daysAfterStart(0))], null, type));
    assert.equal(allowedAt(guard, daysAfterStart(days)), true);
    assert.equal(allowedAt(guard, daysAfterStart(days + 0.1)), false);
  }
});

test("a bank debit keeps its scheme's rules under its gateway's name", () => {
  const names = {
    us_bank_account: "ACH",
    ACH_DEBIT: "ACH",
    ach: "ACH",
    sepadirectdebit: "SEPA",
    sepa_core: "SEPA",
    bacs: "Bacs",
    directdebit_gb: "Bacs",
  };
  for (const [type, scheme] of Object.entries(names)) {
    const debit = buildGuard(buildAttempt([buildEntry(daysAfterStart(0)), buildEntry(daysAfterStart(5))], null, type));
    assert.match(debit.notAfter!.sentence, new RegExp(`^${scheme} allows`), type);
    assert.equal(isCard({ paymentMethodType: type, network: "visa", cardCountry: null }), false, type);
  }
  const returned = { networkDeclineCode: "R01", networkAdviceCode: null, gatewayCode: null, declineCategory: null };
  const account = { paymentMethodType: "us_bank_account", network: null, cardCountry: null };
  assert.equal(findDeclineGroup(returned, account), "FUNDS");
  assert.equal(findDeclineGroup({ ...returned, networkDeclineCode: "R07" }, account), "REVOKED");
});

test("a debit has as many presentations left as its scheme allows after the earlier ones", () => {
  const attemptsLeft = (type: string, count: number) =>
    buildGuard(
      buildAttempt(
        Array.from({ length: count }, (_, n) => buildEntry(daysAfterStart(n))),
        null,
        type,
      ),
    ).attemptsLeft?.count;
  assert.deepEqual(
    [attemptsLeft("sepa_debit", 1), attemptsLeft("sepa_debit", 2), attemptsLeft("sepa_debit", 3)],
    [2, 1, undefined],
  );
});

test("an unanswered retry of a prepaid card counts, and a decline without the advice does not", () => {
  const codes = { ...NOTHING, networkAdviceCode: "40" };
  const plain = { ...NOTHING, networkDeclineCode: "51" };
  const attemptsLeft = (...ledger: LedgerEntry[]) => buildGuard(buildAttempt(ledger, "mastercard")).attemptsLeft?.count;
  const requestEntry = buildEntry(daysAfterStart(2), { approved: null });
  assert.deepEqual(
    [
      attemptsLeft(buildEntry(daysAfterStart(0), { codes }), requestEntry),
      attemptsLeft(requestEntry, buildEntry(daysAfterStart(3), { codes })),
    ],
    [1, 2],
  );
  assert.equal(
    attemptsLeft(buildEntry(daysAfterStart(0), { codes }), buildEntry(daysAfterStart(1), { codes: plain })),
    2,
  );
  const guard = buildGuard(
    buildAttempt(
      [buildEntry(daysAfterStart(0), { codes }), buildEntry(daysAfterStart(1), { codes }), requestEntry],
      "mastercard",
    ),
  );
  assert.match(
    guard.block!.sentence,
    /^Few retries are advised for such a card \(.*\)\. Dunlin allows at most 3 attempts\. Counted so far: 3\.$/,
  );
});

test("an unreported first debit counts as one", () => {
  const ledger = [buildEntry(daysAfterStart(3), { approved: null }), buildEntry(daysAfterStart(7), { approved: null })];
  assert.equal(
    allowedAt(
      buildGuard({ ...buildAttempt(ledger, null, "sepa_debit"), firstTriedAt: daysAfterStart(0) }),
      daysAfterStart(9),
    ),
    false,
  );
});
