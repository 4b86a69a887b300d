import assert from "node:assert/strict";
import { test } from "node:test";
import type { DeclineCodes } from "../rules/decline-group.ts";
import type { LedgerEntry } from "../rules/guard.ts";
import { decide } from "./decide.ts";
import type { Decision, Known } from "./known.ts";

const HOUR = 3_600_000;
const FAILED_AT = new Date("2026-04-06T10:00:00Z"); // a Monday
const soon = (hours: number) => new Date(+FAILED_AT + hours * HOUR);

/** A German Visa card that failed on Monday, in a window of 28 days with all 8 retries left. */
function failed(codes: Partial<DeclineCodes> | null, rest: Partial<Known> = {}): Known {
  const said = codes && {
    networkDeclineCode: null,
    networkAdviceCode: null,
    gatewayCode: null,
    declineCategory: null,
    ...codes,
  };
  const first: LedgerEntry = {
    at: FAILED_AT,
    amount: 2900,
    approved: false,
    onThisInvoice: true,
    onPresentCard: true,
    codes: said,
  };
  return {
    caseId: "0198c0de-0000-7000-8000-000000000001",
    unpaidAt: FAILED_AT,
    windowEndsAt: soon(28 * 24),
    budgetLeft: 8,
    leadMs: 49 * 60_000,
    amount: 2900,
    currency: "EUR",
    paymentMethodType: "card",
    network: "visa",
    cardCountry: "DE",
    customerTimezone: null,
    businessEntity: null,
    ledger: said ? [first] : [],
    lastDecline: said && { at: FAILED_AT, ...said },
    cardChangedAt: null,
    cardChange: null,
    issuerDownAt: null,
    billed: [],
    othersPlanned: false,
    retries: [],
    ...rest,
  };
}

const retryOf = (decision: Decision) => {
  assert.equal(decision.kind, "retry", JSON.stringify(decision));
  return decision as Extract<Decision, { kind: "retry" }>;
};
const decideSoon = (known: Known) => decide(known, soon(0.1));

test("with nothing known of the decline the tries are spread evenly, each in the local morning", () => {
  const decision = retryOf(decideSoon(failed({ networkDeclineCode: "05" })));
  // 28 days over 9 gaps: due on Thursday at 12:40 in Berlin.
  assert.match(decision.at.toISOString(), /^2026-04-09T07:(0\d|1[0-4])/);
  assert.equal(decision.suggestion, "RETRY");
  assert.equal(decision.reasons[0], "The last try failed: the bank gave no reason (code 05).");
  assert.match(decision.reasons.at(-1)!, /7 more tries may be made before the window ends on Mon 4 May/);
});

test("where another invoice's decline bars the card until the window is over, another card is asked for, though this one is alive", () => {
  const told = (days: number): LedgerEntry[] => [
    {
      at: soon(-24 * days),
      amount: 2900,
      approved: false,
      onThisInvoice: false,
      onPresentCard: true,
      codes: { networkDeclineCode: "57", networkAdviceCode: null, gatewayCode: null, declineCategory: null },
    },
    {
      at: soon(-24),
      amount: 2900,
      approved: true,
      onThisInvoice: false,
      onPresentCard: true,
      codes: null,
      clears: true,
    },
  ];
  const after = (days: number) => {
    const known = failed({ networkDeclineCode: "51" });
    return decideSoon({ ...known, ledger: [...told(days), ...known.ledger] });
  };
  const late = after(2);
  assert.equal(late.kind, "card_change");
  assert.match(late.reasons.join(" "), /Visa does not allow another try on a card after such a decline/);
  // Over on the 27th day of the window.
  assert.ok(+retryOf(after(3)).at >= +soon(27 * 24));
  assert.ok(+retryOf(after(40)).at < +soon(7 * 24));
});

test("where a scheme allows two presentations more, those two are spread over the window", () => {
  const debit = { paymentMethodType: "sepa_debit", network: null, cardCountry: null };
  const decision = retryOf(decideSoon(failed({ networkDeclineCode: "MS03" }, debit)));
  // 28 days over 3 gaps: due on Wednesday, nine days later.
  assert.match(decision.at.toISOString(), /^2026-04-15T09/);
  assert.match(
    decision.reasons.slice(-2).join(" "),
    /1 more try may be made before the window ends on Mon 4 May\. SEPA debits allow/,
  );
});

test("without any transaction a retry is asked for all the same, by what the currency tells", () => {
  const known = failed(null, { paymentMethodType: null, network: null, cardCountry: null, currency: "SEK" });
  const decision = retryOf(decideSoon(known));
  assert.equal(decision.suggestion, "RETRY");
  assert.match(decision.reasons.join(" "), /Europe\/Stockholm/);
  assert.match(decision.reasons[0]!, /not known/);
});

test("missing money waits for the likely pay day within reach", () => {
  const rest = { unpaidAt: new Date("2026-04-12T10:00:00Z") };
  const decision = retryOf(decideSoon(failed({ networkDeclineCode: "51" }, rest)));
  assert.match(decision.at.toISOString(), /^2026-04-15T07:/);
  assert.match(decision.reasons[1]!, /^Wed 15 April is a likely pay day in Germany/);
});

test("a reached limit waits for the start of a local day", () => {
  const decision = retryOf(decideSoon(failed({ networkDeclineCode: "61" })));
  assert.match(decision.at.toISOString(), /^2026-04-08T22:(0\d|1[0-4])/);
});

test("a bank that is down is tried again after twelve hours, and evenly when it is down again", () => {
  const down = failed({ networkDeclineCode: "91" });
  assert.match(retryOf(decideSoon(down)).at.toISOString(), /^2026-04-06T22:(0\d|1[0-4])/);
  const again = { ...down.ledger[0]!, at: soon(12) };
  const twice = failed(
    { networkDeclineCode: "91" },
    { ledger: [down.ledger[0]!, again], lastDecline: { ...down.lastDecline!, at: soon(12) } },
  );
  assert.ok(retryOf(decide(twice, soon(13))).at > soon(36));
});

test("a card that cannot be charged asks for another at once, and is hopeless when none comes", () => {
  for (const code of ["41", "54", "14", "1A", "N7"]) {
    const decision = decideSoon(failed({ networkDeclineCode: code }));
    assert.equal(decision.kind, "card_change", code);
    assert.deepEqual((decision as { at: Date }).at, soon(0.1));
    const awaited = decideSoon(failed({ networkDeclineCode: code }, { cardChange: "awaited" }));
    const expired = decideSoon(failed({ networkDeclineCode: code }, { cardChange: "expired" }));
    const [meanwhile, then] = code === "54" ? ["retry", "retry"] : ["wait", "stop"];
    assert.deepEqual([awaited.kind, expired.kind], [meanwhile, then], code);
  }
});

test("a card that banks renew by themselves is tried as well once another one was asked for, as far as the rules allow it", () => {
  const tried = decideSoon(failed({ networkDeclineCode: "54" }, { cardChange: "awaited" }));
  assert.match(tried.reasons[0]!, /expired \(code 54\)\. Another card is asked for; banks renew such cards/);
  const barred = failed(
    { networkDeclineCode: "54", networkAdviceCode: "03" },
    { network: "mastercard", cardChange: "awaited" },
  );
  assert.equal(decideSoon(barred).kind, "wait");
  const used = decideSoon(failed({ networkDeclineCode: "54" }, { cardChange: "awaited", budgetLeft: 0 }));
  assert.equal(used.kind, "wait", "the customer may still bring another one");
  assert.match(used.reasons.at(-1)!, /Another card or payment method is asked for/);
  const debit = { paymentMethodType: "sepa_debit", network: null, cardChange: "awaited" } as const;
  assert.equal(decideSoon(failed({ gatewayCode: "expired_card" }, debit)).kind, "wait");
  const over = decideSoon(failed({ networkDeclineCode: "54" }, { cardChange: "expired", budgetLeft: 0 }));
  assert.deepEqual([over.kind, (over as { end: string }).end], ["stop", "budget_used"]);
});

test("a card with wrong data is tried as well where its bank says that there is newer data, or that it has expired", () => {
  const asked = (networkDeclineCode: string, networkAdviceCode: string) =>
    decideSoon(failed({ networkDeclineCode, networkAdviceCode }, { network: "mastercard", cardChange: "awaited" }));
  for (const [code, advice] of [
    ["14", "01"],
    ["46", "01"],
    ["54", "04"],
  ] as const)
    assert.equal(asked(code, advice).kind, "retry", `${code} with ${advice}`);
  for (const [code, advice] of [
    ["14", "02"],
    ["R1", "01"],
    ["14", "03"],
  ] as const)
    assert.notEqual(asked(code, advice).kind, "retry", `${code} with ${advice}`);
});

test("the rule that ended the retries is named with its source", () => {
  const decision = decideSoon(failed({ networkDeclineCode: "41" }));
  assert.match(decision.reasons.join(" "), /lost \(code 41\).*Visa does not allow another try.*17 April 2021/);
});

test("a revoked payment and suspected fraud stop at once", () => {
  for (const codes of [{ networkDeclineCode: "R1" }, { networkAdviceCode: "21" }, { gatewayCode: "fraudulent" }]) {
    const decision = decideSoon(failed(codes));
    assert.deepEqual([decision.kind, (decision as { end: string }).end], ["stop", "hopeless"]);
  }
});

test("a later mild decline does not lift what an earlier one barred", () => {
  const barred = failed({ networkDeclineCode: "43" }).ledger[0]!;
  const mild = failed(
    { networkDeclineCode: "05" },
    { lastDecline: { ...failed({ networkDeclineCode: "05" }).lastDecline!, at: soon(20) } },
  );
  const decision = decide({ ...mild, ledger: [barred, { ...mild.ledger[0]!, at: soon(20) }] }, soon(21));
  assert.equal(decision.kind, "card_change");
  assert.match(decision.reasons.join(" "), /An earlier try failed: the card was reported stolen/);
});

test("a new card is tried about an hour later, at any hour, and at once when that was missed", () => {
  const changed = failed({ networkDeclineCode: "41" }, { cardChangedAt: soon(30) });
  const known = { ...changed, ledger: changed.ledger.map((entry) => ({ ...entry, onPresentCard: false })) };
  const decision = retryOf(decide(known, soon(30)));
  assert.ok(decision.at >= soon(31) && decision.at < soon(31.25));
  assert.deepEqual(retryOf(decide(known, soon(60))).at, soon(60));
  const tried = { ...known, retries: [{ idealRetryTime: decision.at, status: "EXPIRED" as const }] };
  assert.ok(retryOf(decide(tried, soon(90))).at > soon(43), "the second try with it is an ordinary one");
});

test("an advised wait is kept, also when the merchant executes at once", () => {
  const known = failed({ networkAdviceCode: "30", networkDeclineCode: "51" }, { network: "mastercard" });
  const decision = retryOf(decideSoon(known));
  assert.ok(+decision.at - known.leadMs >= +soon(240));
  assert.match(decision.reasons.join(" "), /10 days.*Mastercard merchant advice codes/);
  const short = { ...known, windowEndsAt: soon(9 * 24) };
  const wait = decideSoon(short);
  assert.equal(wait.kind, "wait");
  assert.match(wait.reasons.join(" "), /10 days/);
});

test("a used budget stops, but not while the last retry is on its way", () => {
  const retry = { idealRetryTime: soon(72), status: "SENT" as const };
  assert.equal(
    decide(failed({ networkDeclineCode: "51" }, { budgetLeft: 0, retries: [retry] }), soon(80)).kind,
    "wait",
  );
  const settled = { budgetLeft: 0, retries: [{ ...retry, status: "FAILED" as const }] };
  const decision = decide(failed({ networkDeclineCode: "51" }, settled), soon(80));
  assert.deepEqual([decision.kind, (decision as { end: string }).end], ["stop", "budget_used"]);
});

test("a returned debit is presented twice again, and then another payment method is asked for", () => {
  const debit = failed({ networkDeclineCode: "AM04" }, { paymentMethodType: "sepa_debit", network: null });
  assert.equal(decideSoon(debit).kind, "retry");
  const again = [72, 144].map((hours) => ({ ...debit.ledger[0]!, at: soon(hours) }));
  const decision = decide({ ...debit, ledger: [...debit.ledger, ...again], budgetLeft: 6 }, soon(150));
  assert.equal(decision.kind, "card_change");
  assert.match(decision.reasons.join(" "), /SEPA debits allow 2 more tries/);
});

test("a debit returned for another reason is not presented again", () => {
  for (const [paymentMethodType, networkDeclineCode] of [
    ["sepa_debit", "AC04"],
    ["ach_debit", "R03"],
    ["bacs_debit", "2"],
  ] as const)
    assert.equal(decideSoon(failed({ networkDeclineCode }, { paymentMethodType })).kind, "card_change");
  assert.equal(decideSoon(failed({ networkDeclineCode: "R07" }, { paymentMethodType: "ach_debit" })).kind, "stop");
});

test("for a payment method without rules only the moment is suggested", () => {
  const decision = retryOf(decideSoon(failed({}, { paymentMethodType: "paypal", network: null })));
  assert.equal(decision.suggestion, "UNSPECIFIED");
  assert.match(decision.reasons.join(" "), /the merchant's to say/);
});

test("a card behind a wallet is retried as a card, and never after its network's last word", () => {
  const wallet = { paymentMethodType: "apple_pay", network: "mastercard" };
  const decision = retryOf(decideSoon(failed({ networkDeclineCode: "51" }, wallet)));
  assert.equal(decision.suggestion, "RETRY");
  assert.doesNotMatch(decision.reasons.join(" "), /No rules are known/);
  const stolen = decideSoon(failed({ networkDeclineCode: "43", networkAdviceCode: "03" }, wallet));
  assert.notEqual(stolen.kind, "retry");
});

test("a moment missed by little comes at once, by much on the next morning", () => {
  const known = failed({ networkDeclineCode: "05" });
  const planned = retryOf(decideSoon(known)).at;
  const late = new Date(+planned + 2 * HOUR);
  assert.deepEqual(retryOf(decide(known, late)).at, late);
  const next = retryOf(decide(known, new Date(+planned + 20 * HOUR))).at;
  assert.equal(+next - +planned, 24 * HOUR);
});

test("a service that was down until shortly before the window's end still tries once", () => {
  const known = failed({ networkDeclineCode: "05" });
  const late = new Date(+known.windowEndsAt - HOUR / 2);
  assert.deepEqual(retryOf(decide(known, late)).at, late);
  assert.equal(decide(known, known.windowEndsAt).kind, "wait");
});

test("a code that is a limit or wants the customer is tried again twice, then the customer is asked", () => {
  const said = { networkDeclineCode: "65", networkAdviceCode: null, gatewayCode: null, declineCategory: null };
  const after = (tries: number) => {
    const known = failed(said, { network: "mastercard" });
    const [first] = known.ledger;
    const ledger = Array.from({ length: tries }, (_, n) => ({ ...first!, at: soon(72 * n) }));
    return decide(
      { ...known, ledger, lastDecline: { ...known.lastDecline!, at: ledger.at(-1)!.at } },
      soon(72 * tries),
    );
  };
  assert.deepEqual(
    [1, 2, 3].map((tries) => after(tries).kind),
    ["retry", "retry", "card_change"],
  );
  assert.match(after(3).reasons[0]!, /may mean that the customer has to confirm/);
});
