import assert from "node:assert/strict";
import { test } from "node:test";
import { decideSoon, failed, HOUR, retryOf, soon } from "./decide.fixture.ts";
import { decide } from "./decide.ts";

test("with nothing known of the decline the tries are spread evenly, each in the local morning", () => {
  const decision = retryOf(decideSoon(failed({ networkDeclineCode: "05" })));
  // 28 days over 9 gaps: due on Thursday at 12:40 in Berlin.
  assert.match(decision.at.toISOString(), /^2026-04-09T07:(0\d|1[0-4])/);
  assert.equal(decision.suggestion, "RETRY");
  assert.equal(decision.reasons[0], "The last try failed: the bank gave no reason (code 05).");
  assert.match(
    decision.reasons[1]!,
    /in the local morning, when money booked overnight is there and people are awake: /,
  );
  assert.match(decision.reasons.at(-1)!, /7 more tries may be made before the window ends on Mon 4 May/);
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
  assert.match(
    decision.reasons[1]!,
    /^Wed 15 April is a likely pay day in Germany .* that morning, when money booked overnight is there: Wed 15 April, 09:/,
  );
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
  assert.match(wait.reasons.join(" "), /10 days.* So nothing more is tried before the recovery window ends\. /);
});

test("an advised wait is a reason of the try that comes soon after it, and of no later one", () => {
  const isNamed = (networkAdviceCode: string, over: object, hours = 0.1) => {
    const known = failed({ networkAdviceCode, networkDeclineCode: "05" }, { network: "mastercard", ...over });
    return /Mastercard advises|no try comes sooner/.test(retryOf(decide(known, soon(hours))).reasons.join(" "));
  };
  assert.equal(isNamed("30", {}), true, "ten days, where tries are three days apart");
  assert.equal(isNamed("25", {}), false, "a day, where the next try is due after three");
  assert.equal(isNamed("30", {}, 24 * 20), false, "over for ten days");
});

test("for a payment method without rules only the moment is suggested", () => {
  const decision = retryOf(decideSoon(failed({}, { paymentMethodType: "paypal", network: null })));
  assert.equal(decision.suggestion, "UNSPECIFIED");
  assert.match(
    decision.reasons.join(" "),
    /How payments by PayPal are tried again is the merchant's to say\. .*PayPal allows/,
  );
  assert.doesNotMatch(decision.reasons.join(" "), /No rules are known/, "there is a limit");
  const other = retryOf(decideSoon(failed({}, { paymentMethodType: "klarna", network: null })));
  assert.match(other.reasons.join(" "), /No rules are known for payments by "klarna"/);
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

test("a rule that kept a try from moments before is its reason, but not where one that it allowed was missed since", () => {
  const known = failed({ networkDeclineCode: "05" });
  const [first] = known.ledger;
  // Visa's 20 of 30 days: one of them is forgotten five days after the failure.
  const others = Array.from({ length: 19 }, () => ({ ...first!, at: soon(-25 * 24), onThisInvoice: false }));
  const full = { ...known, ledger: [...others, first!] };
  const planned = retryOf(decideSoon(full));
  assert.ok(planned.at > soon(5 * 24));
  assert.match(planned.reasons.join(" "), /Visa allows at most/);
  for (const late of [2, 20]) {
    const next = retryOf(decide(full, new Date(+planned.at + late * HOUR)));
    assert.doesNotMatch(next.reasons.join(" "), /Visa allows at most/, `${late} hours late`);
  }
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

test("only the first of several faults at the bank is followed by a try after twelve hours", () => {
  const down = failed({ networkDeclineCode: "91" });
  const [first] = down.ledger;
  const entry = (hours: number, over: Partial<typeof first> = {}) => ({ ...first!, at: soon(hours), ...over });
  const money = { ...first!.codes!, networkDeclineCode: "51" };
  const isSoon = (ledger: typeof down.ledger, lastAt: number, over: Partial<typeof down> = {}) => {
    const known = { ...down, ledger, lastDecline: { ...down.lastDecline!, at: soon(lastAt) }, ...over };
    const { at, reasons } = retryOf(decide(known, soon(lastAt + 0.5)));
    const isTold = /Such faults pass within hours/.test(reasons.join(" "));
    assert.equal(isTold, +at <= +soon(lastAt + 12.5), reasons.join(" "));
    return isTold;
  };
  assert.ok(isSoon([entry(0)], 0));
  assert.ok(isSoon([entry(-48, { codes: money }), entry(0)], 0), "the one before it had another reason");
  assert.ok(!isSoon([entry(-48), entry(0)], 0), "it is the second one");
  assert.ok(isSoon([entry(-48, { onThisInvoice: false }), entry(0)], 0), "the one before it was of another invoice");
  assert.ok(isSoon([entry(-48, { approved: true }), entry(0)], 0), "the one before it was approved");
  assert.ok(isSoon([entry(-48, { codes: null }), entry(0)], 0), "of the one before it nothing is known");
  // The last decline is not of the latest try, whose outcome is not known.
  assert.ok(!isSoon([entry(0), entry(2, { approved: null, codes: null })], 0));
});

test("a new card whose hour is beyond the window is tried at once", () => {
  const changed = failed({ networkDeclineCode: "41" }, { cardChangedAt: soon(30), windowEndsAt: soon(30.5) });
  const known = { ...changed, ledger: changed.ledger.map((entry) => ({ ...entry, onPresentCard: false })) };
  const decision = retryOf(decide(known, soon(30.2)));
  assert.deepEqual(decision.at, soon(30.2));
  assert.match(decision.reasons.join(" "), /new card or payment method/);
});
