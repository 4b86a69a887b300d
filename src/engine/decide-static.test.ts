import assert from "node:assert/strict";
import { test } from "node:test";
import {
  assertRetry,
  buildFailedFacts,
  decideSoonAfterFailure,
  HOUR,
  hoursAfterFailure,
} from "./decide-static.fixture.ts";
import { decideStatic } from "./decide-static.ts";
import { buildDecisionContext } from "./decision-context.ts";

test("retries are evenly spaced, each in the local morning, when nothing is reported about the decline", () => {
  const decision = assertRetry(decideSoonAfterFailure(buildFailedFacts({ networkDeclineCode: "05" })));
  // 28 days over 9 gaps: due on Thursday at 12:40 in Berlin.
  assert.match(decision.at.toISOString(), /^2026-04-09T07:(0\d|1[0-4])/);
  assert.equal(decision.suggestion, "RETRY");
  assert.equal(decision.reasons[0], "The last attempt failed: the bank gave no reason (code 05).");
  assert.match(decision.reasons[1]!, /in the local morning: /);
  assert.match(decision.reasons.at(-1)!, /7 more retries are possible before the window ends on Mon 4 May/);
});

test("two retries spread over the window when a scheme allows two more presentations", () => {
  const debit = { paymentMethodType: "sepa_debit", network: null, cardCountry: null };
  const decision = assertRetry(decideSoonAfterFailure(buildFailedFacts({ networkDeclineCode: "MS03" }, debit)));
  // 28 days over 3 gaps: due on Wednesday, nine days later.
  assert.match(decision.at.toISOString(), /^2026-04-15T09/);
  assert.match(
    decision.reasons.slice(-2).join(" "),
    /1 more retry is possible before the window ends on Mon 4 May\. SEPA allows/,
  );
});

test("a retry is requested without any transaction, in the time zone of the currency", () => {
  const facts = buildFailedFacts(null, { paymentMethodType: null, network: null, cardCountry: null, currency: "SEK" });
  const decision = assertRetry(decideSoonAfterFailure(facts));
  assert.equal(decision.suggestion, "RETRY");
  assert.match(decision.reasons.join(" "), /Europe\/Stockholm/);
  assert.match(decision.reasons[0]!, /unknown/);
});

test("a retry after missing money waits for the likely pay day within reach", () => {
  const rest = { unpaidAt: new Date("2026-04-12T10:00:00Z") };
  const decision = assertRetry(decideSoonAfterFailure(buildFailedFacts({ networkDeclineCode: "51" }, rest)));
  assert.match(decision.at.toISOString(), /^2026-04-15T07:/);
  assert.match(
    decision.reasons[1]!,
    /^Wed 15 April is a likely pay day in Germany .* that morning, after payments were booked overnight: Wed 15 April, 09:/,
  );
});

test("a retry after a limit waits for the start of a local day", () => {
  const decision = assertRetry(decideSoonAfterFailure(buildFailedFacts({ networkDeclineCode: "61" })));
  assert.match(decision.at.toISOString(), /^2026-04-08T22:(0\d|1[0-4])/);
});

test("a bank that is down is retried after twelve hours, and evenly when it is down again", () => {
  const down = buildFailedFacts({ networkDeclineCode: "91" });
  assert.match(assertRetry(decideSoonAfterFailure(down)).at.toISOString(), /^2026-04-06T22:(0\d|1[0-4])/);
  const again = { ...down.ledger[0]!, at: hoursAfterFailure(12) };
  const twice = buildFailedFacts(
    { networkDeclineCode: "91" },
    { ledger: [down.ledger[0]!, again], lastDecline: { ...down.lastDecline!, at: hoursAfterFailure(12) } },
  );
  assert.ok(assertRetry(decideStatic(buildDecisionContext(twice, hoursAfterFailure(13)))).at > hoursAfterFailure(36));
});

test("a new card is retried about an hour later, at any hour, and at once when that was missed", () => {
  const changed = buildFailedFacts({ networkDeclineCode: "41" }, { cardChangedAt: hoursAfterFailure(30) });
  const facts = { ...changed, ledger: changed.ledger.map((entry) => ({ ...entry, onPresentCard: false })) };
  const decision = assertRetry(decideStatic(buildDecisionContext(facts, hoursAfterFailure(30))));
  assert.ok(decision.at >= hoursAfterFailure(31) && decision.at < hoursAfterFailure(31.25));
  assert.deepEqual(
    assertRetry(decideStatic(buildDecisionContext(facts, hoursAfterFailure(60)))).at,
    hoursAfterFailure(60),
  );
  const tried = { ...facts, retries: [{ idealRetryTime: decision.at, status: "EXPIRED" as const }] };
  assert.ok(
    assertRetry(decideStatic(buildDecisionContext(tried, hoursAfterFailure(90)))).at > hoursAfterFailure(43),
    "the second try with it is an ordinary one",
  );
});

test("an advised wait is kept, even when the merchant executes at once", () => {
  const facts = buildFailedFacts({ networkAdviceCode: "30", networkDeclineCode: "51" }, { network: "mastercard" });
  const decision = assertRetry(decideSoonAfterFailure(facts));
  assert.ok(+decision.at - facts.leadMs >= +hoursAfterFailure(240));
  assert.match(decision.reasons.join(" "), /10 days.*Mastercard merchant advice codes/);
  const short = { ...facts, windowEndsAt: hoursAfterFailure(9 * 24) };
  const wait = decideSoonAfterFailure(short);
  assert.equal(wait.kind, "wait");
  assert.match(wait.reasons.join(" "), /10 days.* So no more retries are planned before the recovery window ends\. /);
});

test("an advised wait is a reason for the retry that follows soon after it, and for no later one", () => {
  const isNamed = (networkAdviceCode: string, overrides: object, hours = 0.1) => {
    const facts = buildFailedFacts(
      { networkAdviceCode, networkDeclineCode: "05" },
      { network: "mastercard", ...overrides },
    );
    return /Dunlin does not retry sooner/.test(
      assertRetry(decideStatic(buildDecisionContext(facts, hoursAfterFailure(hours)))).reasons.join(" "),
    );
  };
  assert.equal(isNamed("30", {}), true, "ten days, where tries are three days apart");
  assert.equal(isNamed("25", {}), false, "a day, where the next try is due after three");
  assert.equal(isNamed("30", {}, 24 * 20), false, "over for ten days");
});

test("only the time is suggested when a payment method has no rules", () => {
  const decision = assertRetry(
    decideSoonAfterFailure(buildFailedFacts({}, { paymentMethodType: "paypal", network: null })),
  );
  assert.equal(decision.suggestion, "UNSPECIFIED");
  assert.match(
    decision.reasons.join(" "),
    /How payments by PayPal are retried is the merchant's decision\. .*PayPal allows/,
  );
  assert.doesNotMatch(decision.reasons.join(" "), /No rules are known/, "there is a limit");
  const other = assertRetry(
    decideSoonAfterFailure(buildFailedFacts({}, { paymentMethodType: "klarna", network: null })),
  );
  assert.match(other.reasons.join(" "), /No rules are known for payments by "klarna"/);
});

test("a card behind a wallet is retried as a card, and never after its network forbids it", () => {
  const wallet = { paymentMethodType: "apple_pay", network: "mastercard" };
  const decision = assertRetry(decideSoonAfterFailure(buildFailedFacts({ networkDeclineCode: "51" }, wallet)));
  assert.equal(decision.suggestion, "RETRY");
  assert.doesNotMatch(decision.reasons.join(" "), /No rules are known/);
  const stolen = decideSoonAfterFailure(
    buildFailedFacts({ networkDeclineCode: "43", networkAdviceCode: "03" }, wallet),
  );
  assert.notEqual(stolen.kind, "retry");
});

test("a time missed by little is made up at once, and one missed by much the next morning", () => {
  const facts = buildFailedFacts({ networkDeclineCode: "05" });
  const planned = assertRetry(decideSoonAfterFailure(facts)).at;
  const late = new Date(+planned + 2 * HOUR);
  assert.deepEqual(assertRetry(decideStatic(buildDecisionContext(facts, late))).at, late);
  const next = assertRetry(decideStatic(buildDecisionContext(facts, new Date(+planned + 20 * HOUR)))).at;
  assert.equal(+next - +planned, 24 * HOUR);
});

test("a rule that excluded earlier times is a reason for the retry, unless an allowed time was missed since", () => {
  const facts = buildFailedFacts({ networkDeclineCode: "05" });
  const [first] = facts.ledger;
  // Visa allows 20 in 30 days; one of them leaves the window five days after the failure.
  const others = Array.from({ length: 19 }, () => ({
    ...first!,
    at: hoursAfterFailure(-25 * 24),
    onThisInvoice: false,
  }));
  const full = { ...facts, ledger: [...others, first!] };
  const planned = assertRetry(decideSoonAfterFailure(full));
  assert.ok(planned.at > hoursAfterFailure(5 * 24));
  assert.match(planned.reasons.join(" "), /Visa allows at most/);
  for (const late of [2, 20]) {
    const next = assertRetry(decideStatic(buildDecisionContext(full, new Date(+planned.at + late * HOUR))));
    assert.doesNotMatch(next.reasons.join(" "), /Visa allows at most/, `${late} hours late`);
  }
});

test("a service that was down until shortly before the window's end still retries once", () => {
  const facts = buildFailedFacts({ networkDeclineCode: "05" });
  const late = new Date(+facts.windowEndsAt - HOUR / 2);
  assert.deepEqual(assertRetry(decideStatic(buildDecisionContext(facts, late))).at, late);
  assert.equal(decideStatic(buildDecisionContext(facts, facts.windowEndsAt)).kind, "wait");
});

test("a code that means a limit or a confirmation is retried twice, then the customer is asked", () => {
  const codes = { networkDeclineCode: "65", networkAdviceCode: null, gatewayCode: null, declineCategory: null };
  const after = (attemptCount: number) => {
    const facts = buildFailedFacts(codes, { network: "mastercard" });
    const [first] = facts.ledger;
    const ledger = Array.from({ length: attemptCount }, (_, n) => ({ ...first!, at: hoursAfterFailure(72 * n) }));
    return decideStatic(
      buildDecisionContext(
        { ...facts, ledger, lastDecline: { ...facts.lastDecline!, at: ledger.at(-1)!.at } },
        hoursAfterFailure(72 * attemptCount),
      ),
    );
  };
  assert.deepEqual(
    [1, 2, 3].map((attemptCount) => after(attemptCount).kind),
    ["retry", "retry", "card_change"],
  );
  assert.match(after(3).reasons[0]!, /may mean that the customer has to confirm/);
});

test("only the first of several bank errors leads to a retry after twelve hours", () => {
  const down = buildFailedFacts({ networkDeclineCode: "91" });
  const [first] = down.ledger;
  const entry = (hours: number, overrides: Partial<typeof first> = {}) => ({
    ...first!,
    at: hoursAfterFailure(hours),
    ...overrides,
  });
  const money = { ...first!.codes!, networkDeclineCode: "51" };
  const isSoon = (ledger: typeof down.ledger, lastAt: number, overrides: Partial<typeof down> = {}) => {
    const facts = {
      ...down,
      ledger,
      lastDecline: { ...down.lastDecline!, at: hoursAfterFailure(lastAt) },
      ...overrides,
    };
    const { at, reasons } = assertRetry(decideStatic(buildDecisionContext(facts, hoursAfterFailure(lastAt + 0.5))));
    const isTold = /Such faults usually end within hours/.test(reasons.join(" "));
    assert.equal(isTold, +at <= +hoursAfterFailure(lastAt + 12.5), reasons.join(" "));
    return isTold;
  };
  assert.ok(isSoon([entry(0)], 0));
  assert.ok(isSoon([entry(-48, { codes: money }), entry(0)], 0), "the one before it had another reason");
  assert.ok(!isSoon([entry(-48), entry(0)], 0), "it is the second one");
  assert.ok(isSoon([entry(-48, { onThisInvoice: false }), entry(0)], 0), "the one before it was of another invoice");
  assert.ok(isSoon([entry(-48, { approved: true }), entry(0)], 0), "the one before it was approved");
  assert.ok(isSoon([entry(-48, { codes: null }), entry(0)], 0), "of the one before it nothing is known");
  // The last decline does not belong to the latest retry, whose outcome is unknown.
  assert.ok(!isSoon([entry(0), entry(2, { approved: null, codes: null })], 0));
});

test("a new card is retried at once when its hour lies beyond the window", () => {
  const changed = buildFailedFacts(
    { networkDeclineCode: "41" },
    { cardChangedAt: hoursAfterFailure(30), windowEndsAt: hoursAfterFailure(30.5) },
  );
  const facts = { ...changed, ledger: changed.ledger.map((entry) => ({ ...entry, onPresentCard: false })) };
  const decision = assertRetry(decideStatic(buildDecisionContext(facts, hoursAfterFailure(30.2))));
  assert.deepEqual(decision.at, hoursAfterFailure(30.2));
  assert.match(decision.reasons.join(" "), /new card or payment method/);
});
