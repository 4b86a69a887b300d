import assert from "node:assert/strict";
import { test } from "node:test";
import { assertRetry, buildFailedFacts, decideSoonAfterFailure, hoursAfterFailure } from "./decide-static.fixture.ts";
import { decideStatic } from "./decide-static.ts";
import { buildDecisionContext } from "./decision-context.ts";
import type { LedgerEntry } from "./rules/attempt-ledger.ts";

test("a card change is requested when another invoice's decline blocks a working card to the end of the window", () => {
  const entries = (days: number): LedgerEntry[] => [
    {
      at: hoursAfterFailure(-24 * days),
      amount: 2900,
      approved: false,
      onThisInvoice: false,
      onPresentCard: true,
      codes: { networkDeclineCode: "57", networkAdviceCode: null, gatewayCode: null, declineCategory: null },
    },
    {
      at: hoursAfterFailure(-24),
      amount: 2900,
      approved: true,
      onThisInvoice: false,
      onPresentCard: true,
      codes: null,
      clears: true,
    },
  ];
  const after = (days: number) => {
    const facts = buildFailedFacts({ networkDeclineCode: "51" });
    return decideSoonAfterFailure({ ...facts, ledger: [...entries(days), ...facts.ledger] });
  };
  const late = after(2);
  assert.equal(late.kind, "card_change");
  assert.match(
    late.reasons.join(" "),
    /An attempt on another invoice failed: [^.]*\(code 57\)\. This decline counts for this card too\. Visa does not allow another attempt on a card after such a decline/,
  );
  // The block ends on day 27 of the window.
  assert.ok(+assertRetry(after(3)).at >= +hoursAfterFailure(27 * 24));
  assert.ok(+assertRetry(after(40)).at < +hoursAfterFailure(7 * 24));
});

test("the reasons also name the earlier decline that blocks the card when the last one ends retries too", () => {
  const expired = buildFailedFacts({ networkDeclineCode: "54" });
  const lost = buildFailedFacts({ networkDeclineCode: "41" }).ledger[0]!;
  const reasonsOf = (onThisInvoice: boolean) =>
    decideSoonAfterFailure({
      ...expired,
      ledger: [{ ...lost, onThisInvoice, at: hoursAfterFailure(-24) }, ...expired.ledger],
    }).reasons;
  assert.match(reasonsOf(true)[1]!, /^An earlier attempt failed: the card was reported lost/);
  assert.match(reasonsOf(false)[1]!, /^An attempt on another invoice failed: .* lost/);
});

test("a stop names the rule by which its own decline blocks the card, and no other decline's", () => {
  const fraud = buildFailedFacts({ gatewayCode: "fraudulent" });
  const lost = buildFailedFacts({ networkDeclineCode: "41" }).ledger[0]!;
  for (const onThisInvoice of [true, false]) {
    const stop = decideSoonAfterFailure({
      ...fraud,
      ledger: [{ ...lost, onThisInvoice, at: hoursAfterFailure(-24) }, ...fraud.ledger],
    });
    assert.equal(stop.kind, "stop");
    assert.doesNotMatch(stop.reasons.join(" "), /does not allow/);
  }
  const revoked = buildFailedFacts({ networkDeclineCode: "R1" });
  assert.match(decideSoonAfterFailure(revoked).reasons.join(" "), /Visa does not allow another attempt/);
  const alike = { ...revoked, ledger: revoked.ledger.map((entry) => ({ ...entry, onThisInvoice: false })) };
  assert.doesNotMatch(
    decideSoonAfterFailure(alike).reasons.join(" "),
    /does not allow/,
    "another invoice's, of the same words",
  );
});

test("the reasons say that nothing more is requested, and that the merchant decides whether to ask for a new mandate", () => {
  const debit = { paymentMethodType: "sepa_debit", network: null, cardCountry: null };
  const answer = (decision: ReturnType<typeof decideSoonAfterFailure>) => [decision.kind, decision.reasons.at(-1)];
  const [kind, words] = answer(decideSoonAfterFailure(buildFailedFacts({ networkDeclineCode: "MD01" }, debit)));
  assert.equal(kind, "stop");
  assert.match(
    words!,
    /Dunlin does not ask for another payment method: the merchant decides whether to ask for a new mandate/,
  );
  assert.match(
    answer(decideSoonAfterFailure(buildFailedFacts({ networkDeclineCode: "R0" })))[1]!,
    /does not ask for another card: the merchant decides/,
  );
});

test("the reasons call a new card likely to work only when it is retried", () => {
  const changed = buildFailedFacts({ networkDeclineCode: "41" }, { cardChangedAt: hoursAfterFailure(30) });
  const [first] = changed.ledger;
  const ledger = [{ ...first!, onPresentCard: false }];
  const blockedEntry = { ...first!, onThisInvoice: false, at: hoursAfterFailure(30) };
  const answer = (overrides: Partial<typeof changed>) =>
    decideStatic(buildDecisionContext({ ...changed, ledger, ...overrides }, hoursAfterFailure(31))).reasons.join(" ");
  assert.match(answer({}), /^The customer has a new card or payment method, so a retry may succeed\./);
  for (const overrides of [{ ledger: [...ledger, blockedEntry] }, { budgetLeft: 0 }]) {
    assert.match(answer(overrides), /^The customer has a new card or payment method\./);
    assert.doesNotMatch(answer(overrides), /may well work/);
  }
});

test("a card that cannot be charged leads to a card change at once and a wait to the end of the window, in words", () => {
  for (const code of ["41", "54", "14", "1A", "N7"]) {
    const decision = decideSoonAfterFailure(buildFailedFacts({ networkDeclineCode: code }));
    assert.equal(decision.kind, "card_change", code);
    assert.deepEqual((decision as { at: Date }).at, hoursAfterFailure(0.1));
    const awaited = decideSoonAfterFailure(buildFailedFacts({ networkDeclineCode: code }, { cardChange: "awaited" }));
    const expired = decideSoonAfterFailure(
      buildFailedFacts({ networkDeclineCode: code }, { cardChange: "expired", cardAskedAt: hoursAfterFailure(20) }),
    );
    const kind = code === "54" ? "retry" : "wait";
    assert.deepEqual([awaited.kind, expired.kind], [kind, kind], code);
    if (kind === "wait")
      assert.match(
        expired.reasons.at(-1)!,
        code === "1A"
          ? /^The customer was asked on Tue 7 April to confirm the payment or to give another card or payment method, without an answer so far\. The case stays open until the recovery window ends on Mon 4 May\.$/
          : /^The customer was asked for another card or payment method on Tue 7 April, and none came so far\. The case stays open until the recovery window ends on Mon 4 May\.$/,
      );
  }
});

test("a card that banks renew is also retried after a card change request, as far as the rules allow", () => {
  const tried = decideSoonAfterFailure(buildFailedFacts({ networkDeclineCode: "54" }, { cardChange: "awaited" }));
  assert.match(
    tried.reasons[0]!,
    /expired \(code 54\)\. The customer is asked for another card\. Banks sometimes renew such cards/,
  );
  const withBudget = (budgetLeft: number) =>
    decideSoonAfterFailure(buildFailedFacts({ networkDeclineCode: "54" }, { cardChange: "awaited", budgetLeft })).kind;
  assert.deepEqual([2, 1].map(withBudget), ["retry", "wait"], "the last try is kept for the other card");
  const blockedFacts = buildFailedFacts(
    { networkDeclineCode: "54", networkAdviceCode: "03" },
    { network: "mastercard", cardChange: "awaited" },
  );
  assert.equal(decideSoonAfterFailure(blockedFacts).kind, "wait");
  const used = decideSoonAfterFailure(
    buildFailedFacts({ networkDeclineCode: "54" }, { cardChange: "awaited", budgetLeft: 0 }),
  );
  assert.equal(used.kind, "wait", "the customer may still bring another one");
  assert.match(used.reasons.at(-1)!, /The customer is asked for another card or payment method/);
  const debit = { paymentMethodType: "sepa_debit", network: null, cardChange: "awaited" } as const;
  assert.equal(decideSoonAfterFailure(buildFailedFacts({ gatewayCode: "expired_card" }, debit)).kind, "wait");
  const expired = { cardChange: "expired", cardAskedAt: hoursAfterFailure(0) } as const;
  const budgetUsed = decideSoonAfterFailure(
    buildFailedFacts({ networkDeclineCode: "54" }, { ...expired, budgetLeft: 0 }),
  );
  assert.deepEqual([budgetUsed.kind, (budgetUsed as { end: string }).end], ["stop", "budget_used"]);
});

test("a card with wrong data is also retried when its bank reports newer data or an expired card", () => {
  const requestReason = (networkDeclineCode: string, networkAdviceCode: string) =>
    decideSoonAfterFailure(
      buildFailedFacts({ networkDeclineCode, networkAdviceCode }, { network: "mastercard", cardChange: "awaited" }),
    );
  for (const [code, advice] of [
    ["14", "01"],
    ["46", "01"],
    ["54", "04"],
  ] as const)
    assert.equal(requestReason(code, advice).kind, "retry", `${code} with ${advice}`);
  for (const [code, advice] of [
    ["14", "02"],
    ["R1", "01"],
    ["14", "03"],
  ] as const)
    assert.notEqual(requestReason(code, advice).kind, "retry", `${code} with ${advice}`);
});

test("the reasons name the rule that ended the retries, with its source", () => {
  const decision = decideSoonAfterFailure(buildFailedFacts({ networkDeclineCode: "41" }));
  assert.match(decision.reasons.join(" "), /lost \(code 41\).*Visa does not allow another attempt.*17 April 2021/);
});

test("the last decline counts when the attempts do not reach back to it, whatever happened on another card then", () => {
  const facts = buildFailedFacts({ networkDeclineCode: "57" });
  const onAnother = { ...facts.ledger.at(-1)!, onPresentCard: false, codes: null };
  for (const ledger of [[], [onAnother]])
    assert.match(
      decideSoonAfterFailure({ ...facts, ledger }).reasons.join(" "),
      /Visa does not allow another attempt on a card/,
    );
});

test("a revoked payment or suspected fraud ends the case at once", () => {
  for (const codes of [{ networkDeclineCode: "R1" }, { networkAdviceCode: "21" }, { gatewayCode: "fraudulent" }]) {
    const decision = decideSoonAfterFailure(buildFailedFacts(codes));
    assert.deepEqual([decision.kind, (decision as { end: string }).end], ["stop", "hopeless"]);
  }
});

test("a later mild decline does not lift an earlier block", () => {
  const blockedEntry = buildFailedFacts({ networkDeclineCode: "43" }).ledger[0]!;
  const mild = buildFailedFacts(
    { networkDeclineCode: "05" },
    { lastDecline: { ...buildFailedFacts({ networkDeclineCode: "05" }).lastDecline!, at: hoursAfterFailure(20) } },
  );
  const decision = decideStatic(
    buildDecisionContext(
      { ...mild, ledger: [blockedEntry, { ...mild.ledger[0]!, at: hoursAfterFailure(20) }] },
      hoursAfterFailure(21),
    ),
  );
  assert.equal(decision.kind, "card_change");
  assert.match(decision.reasons.join(" "), /An earlier attempt failed: the card was reported stolen/);
});

test("a used budget ends the case, but not while the last retry is on its way", () => {
  const retry = { idealRetryTime: hoursAfterFailure(72), status: "SENT" as const };
  assert.equal(
    decideStatic(
      buildDecisionContext(
        buildFailedFacts({ networkDeclineCode: "51" }, { budgetLeft: 0, retries: [retry] }),
        hoursAfterFailure(80),
      ),
    ).kind,
    "wait",
  );
  const settled = { budgetLeft: 0, retries: [{ ...retry, status: "FAILED" as const }] };
  const decision = decideStatic(
    buildDecisionContext(buildFailedFacts({ networkDeclineCode: "51" }, settled), hoursAfterFailure(80)),
  );
  assert.deepEqual([decision.kind, (decision as { end: string }).end], ["stop", "budget_used"]);
});

test("a returned debit is presented twice again, and then another payment method is requested", () => {
  const debit = buildFailedFacts({ networkDeclineCode: "AM04" }, { paymentMethodType: "sepa_debit", network: null });
  assert.equal(decideSoonAfterFailure(debit).kind, "retry");
  const again = [72, 144].map((hours) => ({ ...debit.ledger[0]!, at: hoursAfterFailure(hours) }));
  const decision = decideStatic(
    buildDecisionContext({ ...debit, ledger: [...debit.ledger, ...again], budgetLeft: 6 }, hoursAfterFailure(150)),
  );
  assert.equal(decision.kind, "card_change");
  assert.match(decision.reasons.join(" "), /SEPA allows at most 3 presentations .* By this rule no retry is left, so/);
});

test("a debit returned for another reason is not presented again", () => {
  for (const [paymentMethodType, networkDeclineCode] of [
    ["sepa_debit", "AC04"],
    ["ach_debit", "R03"],
    ["bacs_debit", "5"],
  ] as const) {
    const { kind, reasons } = decideSoonAfterFailure(buildFailedFacts({ networkDeclineCode }, { paymentMethodType }));
    assert.equal(kind, "card_change");
    assert.match(reasons.join(" "), /allows .* only after .* After such a decline this rule allows no retry, so/);
  }
  assert.equal(
    decideSoonAfterFailure(buildFailedFacts({ networkDeclineCode: "R07" }, { paymentMethodType: "ach_debit" })).kind,
    "stop",
  );
});

test("a card change is requested when the card's limit is full to the end of the window", () => {
  const attempts = (count: number, overrides: Partial<LedgerEntry> = {}): LedgerEntry[] =>
    Array.from({ length: count }, (_, n) => ({
      at: hoursAfterFailure(-n),
      amount: 2900,
      approved: false,
      onThisInvoice: false,
      onPresentCard: true,
      codes: null,
      ...overrides,
    }));
  const facts = buildFailedFacts({ networkDeclineCode: "51" });
  const after = (count: number, overrides: Partial<typeof facts> = {}) =>
    decideSoonAfterFailure({ ...facts, ledger: [...attempts(count), ...facts.ledger], ...overrides });
  const full = after(19);
  assert.equal(full.kind, "card_change");
  assert.match(
    full.reasons.join(" "),
    /Visa allows at most 20 declined attempts .*By this rule no retry is allowed before the recovery window ends, so the customer is asked/,
  );
  assert.equal(after(18).kind, "retry");
  assert.equal(after(19, { windowEndsAt: hoursAfterFailure(32 * 24) }).kind, "retry", "by then one is over");
  assert.equal(after(19, { cardChange: "awaited" }).kind, "wait");
  assert.equal(after(19, { cardChange: "expired", cardAskedAt: hoursAfterFailure(0) }).kind, "wait");
  const requested = after(19, { retries: [{ idealRetryTime: hoursAfterFailure(1), status: "SENT" }] });
  assert.match(requested.reasons.join(" "), /its outcome is not known yet\. Visa allows/);
});

test("a debit is not presented again when the gateway reports a closed account or a missing mandate", () => {
  const debit = (paymentMethodType: string, gatewayCode: string | null) =>
    decideSoonAfterFailure(buildFailedFacts({ gatewayCode }, { paymentMethodType, network: null, cardCountry: null }));
  for (const type of ["sepa_debit", "us_bank_account", "bacs"])
    for (const code of ["account_closed", "no_account", "bank_account_restricted", "a_reason_of_tomorrow"])
      assert.equal(debit(type, code).kind, "card_change", `${type} ${code}`);
  for (const code of ["debit_not_authorized", "recipient_deceased"])
    assert.equal(debit("sepa_debit", code).kind, "stop", code);
  assert.match(debit("sepa_debit", "recipient_deceased").reasons[0]!, /the account's holder has died/);
  for (const code of [null, "payment_failed", "generic_decline", "try_again_later", "processing_error"])
    assert.match(
      assertRetry(debit("sepa_debit", code)).reasons.join(" "),
      /only after AM04 or MS03 \(.*\)\. The last return code was not reported, so Dunlin checks only the number and the date/,
      code ?? "no code",
    );
  assert.doesNotMatch(assertRetry(debit("sepa_debit", "insufficient_funds")).reasons.join(" "), /not reported/);
});

test("the customer is asked to confirm when the bank requires it, which needs no other card", () => {
  const requestReason = (networkDeclineCode: string) =>
    decideSoonAfterFailure(buildFailedFacts({ networkDeclineCode })).reasons.at(-1)!;
  assert.match(requestReason("1A"), /is asked to confirm the payment or to give another card or payment method now\.$/);
  assert.match(requestReason("41"), /is asked for another card or payment method now\.$/);
  const blockedEntry = buildFailedFacts({ networkDeclineCode: "1A" });
  const lost = { ...buildFailedFacts({ networkDeclineCode: "41" }).ledger[0]!, at: hoursAfterFailure(-24) };
  const { reasons } = decideSoonAfterFailure({ ...blockedEntry, ledger: [lost, ...blockedEntry.ledger] });
  assert.match(reasons.at(-1)!, /is asked for another card or payment method now\.$/, "a barred card helps nobody");
});

test("the reasons name the blocking rule as Visa's on a Visa card, and as kept for safety on others", () => {
  const reasons = (network: string) =>
    decideSoonAfterFailure(buildFailedFacts({ networkDeclineCode: "57" }, { network })).reasons.join(" ");
  assert.match(reasons("visa"), /\. Visa does not allow another attempt/);
  assert.match(
    reasons("discover"),
    /Visa does not allow another attempt .* Dunlin applies that rule here as the safe choice/,
  );
});

test("nothing is requested while an attempt is pending, the reasons say until when, and retries go on after that", () => {
  const pending = { at: hoursAfterFailure(1), until: hoursAfterFailure(49) };
  const facts = buildFailedFacts({ networkDeclineCode: "51" }, { pending });
  const waiting = decideStatic(buildDecisionContext(facts, hoursAfterFailure(2)));
  assert.deepEqual([waiting.kind, waiting.kind === "wait" && waiting.until], ["wait", pending.until]);
  assert.equal(
    waiting.reasons.at(-1),
    "An attempt was made on Mon 6 April, 13:00 (Europe/Berlin) and may still succeed, so Dunlin waits for its outcome, until Wed 8 April, 13:00 (Europe/Berlin).",
  );
  assert.equal(decideStatic(buildDecisionContext(facts, hoursAfterFailure(49))).kind, "retry");
});
