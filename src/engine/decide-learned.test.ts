import assert from "node:assert/strict";
import { test } from "node:test";
import pino from "pino";
import { readPretrainedModel } from "../process/pretrained-model-file.ts";
import { jitterMs } from "./candidate-times.ts";
import {
  buildCase,
  buildCodes,
  buildInvoice,
  DAY,
  PAID_ON_THE_25TH,
  soonAfterFailure,
} from "./decide-learned.fixture.ts";
import { decideLearned } from "./decide-learned.ts";
import { HOUR } from "./decide-static.fixture.ts";
import { buildDecisionContext } from "./decision-context.ts";
import type { DecisionFacts } from "./decision-facts.ts";
import type { CustomerHistory, PastInvoice } from "./infer-posterior.ts";
import { DATE_CELL_COUNT } from "./learned/date-outcomes.ts";
import { type LearnedModel, newLearnedModel } from "./learned/learned-model.ts";
import { classOf, dateCellWeight, otherInvoiceWeight } from "./learned/model-layout.ts";
import { fromPretrained } from "./learned/pretrained-model.ts";

const newModel = newLearnedModel();
const pretrainedModel = fromPretrained(readPretrainedModel(pino({ level: "silent" }))!);

test("a customer always paid between the 20th and the 26th is not retried earlier, and the reasons say why", () => {
  const [facts, history] = buildCase([...PAID_ON_THE_25TH, buildInvoice("2026-05-11", [])]);
  const { decision, chosen } = decideLearned(
    buildDecisionContext(facts, soonAfterFailure(facts), history),
    history,
    pretrainedModel,
  );
  assert.equal(decision.kind, "retry");
  const date = (decision as { at: Date }).at.getUTCDate();
  assert.ok(date >= 21 && date <= 28, `${date}`);
  assert.match(decision.reasons.join(" "), /money arrives with the next pay.*2[1-6]/);
  assert.ok(chosen!.chance > 0.15 && decision.reasons.length >= 3 && decision.reasons.length <= 5);
  assert.ok(decision.reasons.every((reason) => /^[A-Z].*\.$/.test(reason) && !/undefined|null|NaN/.test(reason)));
});

test("the reasons mention earlier payments around the chosen date only when they favored it and none failed there", () => {
  const taught = newLearnedModel();
  for (let cell = 15; cell < DATE_CELL_COUNT; cell++) taught.mean[dateCellWeight(classOf("LIMIT"), cell)] = 0.3;
  const decided = (model: LearnedModel, earlier: readonly PastInvoice[]) => {
    const [facts, history] = buildCase([...earlier, buildInvoice("2026-05-11", [], "61")]);
    const { decision } = decideLearned(
      buildDecisionContext(facts, soonAfterFailure(facts, 100), history),
      history,
      model,
    );
    return { date: (decision as { at: Date }).at.toISOString().slice(8, 10), said: decision.reasons.join(" ") };
  };
  const months = [1, 2, 3, 4];
  const { date, said } = decided(taught, []);
  assert.doesNotMatch(said, /around this day/);
  const paidOn = months.map((month) => buildInvoice(`2026-0${month}-${date}`, [], null));
  const paid = decided(taught, paidOn);
  assert.ok(Math.abs(Number(paid.date) - Number(date)) <= 1, `${paid.date}`);
  assert.match(paid.said, /Earlier payments of this customer succeeded around this day of the month/);
  assert.doesNotMatch(decided(newModel, paidOn).said, /around this day/);
  const once = decided(taught, paidOn.slice(3));
  assert.equal(once.date, date);
  assert.doesNotMatch(once.said, /around this day/);
  const failedOnce = decided(taught, [...paidOn.slice(0, 3), buildInvoice(`2026-04-${date}`, [])]);
  assert.equal(failedOnce.date, date);
  assert.doesNotMatch(failedOnce.said, /around this day/);
});

test("a plan stays exactly the same while its time lies ahead, and is a later one when missed by days", () => {
  for (const invoices of [
    [buildInvoice("2026-05-11", [])],
    [...PAID_ON_THE_25TH, buildInvoice("2026-05-11", [["2026-05-14", "51"]])],
  ]) {
    const [facts, history] = buildCase(invoices);
    const first = decideLearned(
      buildDecisionContext(facts, new Date(+invoices.at(-1)!.charges.at(-1)!.at + HOUR), history),
      history,
      newModel,
    );
    assert.equal(first.decision.kind, "retry");
    const at = +(first.decision as { at: Date }).at;
    for (const ahead of [0, HOUR, DAY / 2]) {
      const { decision, chosen } = decideLearned(
        buildDecisionContext(facts, new Date(at - ahead), history),
        history,
        newModel,
      );
      const choice = { ...chosen, weighedPlan: null };
      assert.deepEqual([decision, choice], [first.decision, { ...first.chosen, weighedPlan: null }]);
    }
    const later = decideLearned(buildDecisionContext(facts, new Date(at + DAY), history), history, newModel).decision;
    if (later.kind === "retry") assert.ok(+later.at >= at + DAY);
  }
});

test("fixed rules still decide the cases that they settle alone", () => {
  const [lost, history] = buildCase([buildInvoice("2026-05-11", [], "41")]);
  assert.equal(
    decideLearned(buildDecisionContext(lost, soonAfterFailure(lost), history), history, newModel).decision.kind,
    "card_change",
  );
  const [open, same] = buildCase([buildInvoice("2026-05-11", [])]);
  const decision = decideLearned(buildDecisionContext(open, new Date(+open.windowEndsAt), same), same, newModel);
  assert.equal(decision.decision.kind, "wait");
  const used = decideLearned(
    buildDecisionContext({ ...open, budgetLeft: 0 }, soonAfterFailure(open), same),
    same,
    newModel,
  );
  assert.deepEqual([used.decision.kind, used.chosen], ["stop", null]);
});

test("a bank's advised wait is kept, including the merchant's lead time", () => {
  const [facts, history] = buildCase([buildInvoice("2026-05-11", [])], { network: "mastercard" });
  const advised = buildCodes("51", "28");
  const ledger = facts.ledger.map((entry) => ({ ...entry, codes: advised }));
  const advisedFacts = { ...facts, ledger, lastDecline: { at: facts.unpaidAt, ...advised } };
  const { decision } = decideLearned(
    buildDecisionContext(advisedFacts, soonAfterFailure(advisedFacts), history),
    history,
    newModel,
  );
  assert.equal(decision.kind, "retry");
  assert.ok(+(decision as { at: Date }).at - facts.leadMs >= +facts.unpaidAt + 6 * DAY);
  assert.match(decision.reasons.join(" "), /advised waiting/);
});

test("the reasons give the booking day of a bank debit, by its scheme's pattern, and of no card", () => {
  const returned: PastInvoice = { ...buildInvoice("2026-05-11", [], "AM04"), paymentMethodType: "sepa_debit" };
  const [facts, history] = buildCase([returned], { paymentMethodType: "sepa_debit", network: null, cardCountry: "SE" });
  const debit: CustomerHistory = { ...history, traits: { ...history.traits, paymentMethodType: "sepa_debit" } };
  const { decision } = decideLearned(buildDecisionContext(facts, soonAfterFailure(facts), debit), debit, newModel);
  assert.equal(decision.kind, "retry");
  const booked = decision.reasons
    .join(" ")
    .match(/The bank is expected to book this debit on (\w+) (\d+) (\w+) \(bank holidays are not considered\)\./);
  assert.ok(booked, decision.reasons.join(" "));
  const requestedAt = (decision as { at: Date }).at.getTime() + HOUR;
  const days = (Date.parse(`${booked[2]} ${booked[3]} 2026 UTC`) - Math.floor(requestedAt / DAY) * DAY) / DAY;
  assert.ok(days >= 1 && days <= 4 && !/Sat|Sun/.test(booked[1]!), `${booked[0]} after ${days} days`);
  const [card, same] = buildCase([buildInvoice("2026-05-11", [])]);
  assert.doesNotMatch(
    decideLearned(buildDecisionContext(card, soonAfterFailure(card), same), same, newModel).decision.reasons.join(" "),
    /booked/,
  );
});

test("a retry is planned even without any reported transaction", () => {
  const silent: PastInvoice = {
    dollars: 29,
    paymentMethodType: null,
    charges: [{ at: new Date("2026-05-11T09:00:00Z"), approved: false, codes: null }],
  };
  const [facts, history] = buildCase([silent], {
    ledger: [],
    lastDecline: null,
    paymentMethodType: null,
    network: null,
  });
  const { decision } = decideLearned(buildDecisionContext(facts, soonAfterFailure(facts), history), history, newModel);
  assert.equal(decision.kind, "retry");
});

test("a case no longer worth retrying is given up, with its reasons in words", () => {
  const [facts, history] = buildCase([buildInvoice("2026-05-11", [])], { amount: 5, currency: "USD" });
  const { decision } = decideLearned(buildDecisionContext(facts, soonAfterFailure(facts), history), history, newModel);
  assert.deepEqual([decision.kind, (decision as { end: string }).end], ["stop", "hopeless"]);
  assert.match(
    decision.reasons.join(" "),
    /No retry is worth its cost\. The best remaining time is .*, with a chance of \d+\.\d%\. A retry costs .* Together that is more than a retry could recover\./,
  );
});

test("the reasons for giving up give the best time's probability, the cost of a retry, and the probability at which it pays", () => {
  const figures =
    /The best remaining time is \w+ \d+ \w+, \d\d:\d\d \(.*\), with a chance of ([\d.]+)%\. A retry costs about USD 0\.12 plus 0\.3% of the amount: here ([\d.]+)% of the amount due\. Dunlin also requires a margin of [\d.]+%\. So a retry needs a chance of at least ([\d.]+)%\./;
  let count = 0;
  for (const amount of [20, 25, 30, 40]) {
    const [facts, history] = buildCase([buildInvoice("2026-05-11", [])], {
      amount,
      currency: "USD",
      caseId: `case-${amount}`,
    });
    const { decision, outlook } = decideLearned(
      buildDecisionContext(facts, soonAfterFailure(facts), history),
      history,
      pretrainedModel,
    );
    if (decision.kind !== "stop") continue;
    count++;
    const [chance, cost, from] = figures.exec(decision.reasons.join(" "))!.slice(1).map(Number);
    assert.ok(Math.abs(cost! - (0.3 + 1200 / amount)) < 0.06, `${cost}`);
    assert.ok(chance! > 1 && chance! < from! && from! > cost!, `${chance} ${cost} ${from}`);
    const { even, days, hours } = outlook()!;
    assert.deepEqual([even!.tries.length, even!.plan, days, hours], [6, [], [], []]);
    assert.ok(even!.recovers > chance! / 100 && even!.worth < 0 && even!.planWorth === 0);
  }
  assert.ok(count > 1, `${count}`);
  const [facts, history] = buildCase([buildInvoice("2026-05-11", [], "54")], { cardChange: "unasked" });
  const late = decideLearned(
    buildDecisionContext({ ...facts, windowEndsAt: soonAfterFailure(facts, 19) }, soonAfterFailure(facts), history),
    history,
    pretrainedModel,
  );
  assert.match(late.decision.reasons.join(" "), /No time is left before the recovery window ends/);
  assert.equal(late.outlook(), null);
});

test("a case without a worthwhile retry waits while another invoice of the customer is due within the window", () => {
  const decided = (rest: Partial<DecisionFacts>, hours = 0.1) => {
    const [facts, history] = buildCase([buildInvoice("2026-05-11", [])], { amount: 5, currency: "USD", ...rest });
    return decideLearned(buildDecisionContext(facts, soonAfterFailure(facts, hours), history), history, newModel)
      .decision;
  };
  const billed = ["2026-05-01", "2026-05-08"].map((day) => ({ subscriptionId: "s", at: new Date(`${day}T09:00:00Z`) }));
  const weekly = decided({ billed });
  assert.equal(weekly.kind, "wait");
  assert.deepEqual((weekly as { until?: Date }).until, new Date("2026-05-16T09:00:00Z"), "a day after it is due");
  assert.match(weekly.reasons.join(" "), /next invoice of this customer is due about Fri 15 May.*the case stays open/);
  const late = decided({ billed }, 4 * 24 + 12);
  assert.deepEqual([late.kind, (late as { until?: Date }).until], ["wait", new Date("2026-05-16T09:00:00Z")], "late");
  assert.equal(decided({ billed }, 5 * 24).kind, "stop", "it did not come");
  assert.equal(decided({ billed, windowEndsAt: new Date("2026-05-14T09:00:00Z") }).kind, "stop", "too late for it");
  const beside = decided({ othersPlanned: true });
  assert.deepEqual(
    [beside.kind, (beside as { until?: Date }).until],
    ["wait", new Date("2026-05-12T09:06:00Z")],
    "looks each day",
  );
  assert.match(beside.reasons.join(" "), /Another invoice of this customer is in recovery/);
  const tooLate = decided({ billed, othersPlanned: true, windowEndsAt: new Date("2026-05-14T09:00:00Z") });
  assert.equal(tooLate.reasons.at(-1), beside.reasons.at(-1), "not the bill that comes after the window");
  assert.equal(decided({}).kind, "stop");
  assert.match(decided({ cardChange: "awaited" }).reasons.join(" "), /may still come\.$/);
  const expired = decided({ cardChange: "expired", cardAskedAt: new Date("2026-05-12T09:00:00Z") });
  assert.deepEqual([expired.kind, "until" in expired], ["wait", false]);
  assert.match(
    expired.reasons.at(-1)!,
    /^The customer was asked for another card .* on Tue 12 May, and none came so far\./,
  );
});

test("a plan changes with the charge of another invoice, names it, and stays while its time lies ahead", () => {
  const taught = newLearnedModel();
  for (const hours of [1, 12]) taught.mean[otherInvoiceWeight(true, hours * HOUR)] = 2;
  const [facts, history] = buildCase([buildInvoice("2026-05-18", [], null), buildInvoice("2026-05-11", [])]);
  const at = (time: string) =>
    decideLearned(buildDecisionContext(facts, new Date(time), history), history, taught).decision;
  const first = at("2026-05-18T09:05:00Z");
  assert.equal(first.kind, "retry");
  const ideal = (first as { at: Date }).at;
  assert.ok(ideal > new Date("2026-05-18T09:00:00Z") && ideal < new Date("2026-05-19T09:00:00Z"), `${ideal}`);
  assert.match(
    first.reasons.join(" "),
    /Since the last attempt, another invoice of this customer was paid, on Mon 18 May, 11:00/,
  );
  assert.deepEqual(at(new Date(+ideal - 60_000).toISOString()), first);
});

test("the same amount in another currency has the same value and leads to the same plan", () => {
  const [facts, history] = buildCase([buildInvoice("2026-05-11", [])]);
  const [dollars, yen] = [
    [2000, "USD"],
    [3000, "JPY"],
  ].map(([amount, currency]) => {
    const smallFacts = { ...facts, amount: amount as number, currency: currency as string };
    return decideLearned(buildDecisionContext(smallFacts, soonAfterFailure(facts), history), history, newModel).chosen!;
  });
  assert.equal(dollars!.weighedPlan.plan.expectedValue, yen!.weighedPlan.plan.expectedValue);
  assert.deepEqual(dollars!.weighedPlan.retryValue.cost, yen!.weighedPlan.retryValue.cost);
  const hundreds = decideLearned(
    buildDecisionContext({ ...facts, amount: 200_000, currency: "USD" }, soonAfterFailure(facts), history),
    history,
    newModel,
  ).chosen!;
  assert.ok(hundreds.weighedPlan.retryValue.cost < dollars!.weighedPlan.retryValue.cost);
});

test("a bank that is down is retried three hours later at the earliest, and the reasons say so", () => {
  const [facts, history] = buildCase([buildInvoice("2026-05-11", [])]);
  const free = decideLearned(buildDecisionContext(facts, soonAfterFailure(facts), history), history, newModel)
    .decision as { at: Date };
  const issuerDownAt = new Date(free.at.getTime() - HOUR);
  const { decision } = decideLearned(
    buildDecisionContext({ ...facts, issuerDownAt }, soonAfterFailure(facts), history),
    history,
    newModel,
  );
  assert.equal(decision.kind, "retry");
  assert.ok(+(decision as { at: Date }).at >= +issuerDownAt + 3 * HOUR);
  assert.match(decision.reasons.join(" "), /failed to reach it.*Dunlin retries there after/);
  assert.ok(decision.reasons.length <= 5);
});

test("a case is not given up when its bank is down until the window ends", () => {
  const [facts, history] = buildCase([buildInvoice("2026-05-11", [])]);
  const now = new Date(facts.windowEndsAt.getTime() - 3 * HOUR);
  const free = decideLearned(buildDecisionContext(facts, now, history), history, newModel).decision;
  assert.equal(free.kind, "retry");
  const { decision } = decideLearned(
    buildDecisionContext({ ...facts, issuerDownAt: now }, now, history),
    history,
    newModel,
  );
  assert.deepEqual(decision, free);
});

test("the reasons announce no more retries than fit twenty hours apart after a decline of the card itself", () => {
  const hoursLeft = 50;
  const answers = ["54", "51"].map((code) => {
    const [facts, history] = buildCase([buildInvoice("2026-05-11", [], code)], { cardChange: "unasked" });
    const windowEndsAt = new Date(+facts.unpaidAt + (20 + hoursLeft) * HOUR);
    const { decision } = decideLearned(
      buildDecisionContext({ ...facts, windowEndsAt }, soonAfterFailure(facts, 20), history),
      history,
      pretrainedModel,
    );
    const { at, reasons } = decision as { at: Date; reasons: string[] };
    const room = Math.floor((+windowEndsAt - +at) / (20 * HOUR));
    return { room, more: Number(/there is time for about (\d) of them/.exec(reasons.at(-1)!)?.[1]) };
  });
  assert.deepEqual(answers[0], { room: 2, more: 2 });
  // Up to six retries share the rest of a short window, closer together than that.
  const { room, more } = answers[1]!;
  assert.ok(more > room && more <= 5, `${more} where ${room} fit twenty hours apart`);
});

test("retries are not spent early when rules leave few, and the reasons say how few", () => {
  const invoices = [...PAID_ON_THE_25TH, buildInvoice("2026-05-02", [])];
  const plannedFor = (rest: Partial<DecisionFacts>) => {
    const [facts, history] = buildCase(invoices, rest);
    const { decision, chosen } = decideLearned(
      buildDecisionContext(facts, soonAfterFailure(facts), history),
      history,
      newModel,
    );
    return { tries: [chosen!.at, ...chosen!.nextTimes].map((at) => (at - +facts.unpaidAt) / DAY), decision };
  };
  assert.ok(plannedFor({}).tries.length > 4);
  // PayPal: two retries after the first attempt.
  const paypal = plannedFor({ paymentMethodType: "paypal", windowEndsAt: new Date("2026-06-06T09:00:00Z") });
  assert.equal(paypal.tries.length, 2, `${paypal.tries}`);
  assert.ok(paypal.tries[1]! > 15, `${paypal.tries}`);
  assert.match(
    paypal.decision.reasons.join(" "),
    /1 more retry is possible before [^.]*\. PayPal allows at most two attempts/,
  );
  // A prepaid card that cannot be topped up: three attempts in total.
  const [facts] = buildCase(invoices);
  const codes = { ...facts.lastDecline!, networkAdviceCode: "40" };
  const ledger = facts.ledger.map((entry) => ({ ...entry, codes }));
  const prepaid = plannedFor({ network: "mastercard", ledger, lastDecline: { ...facts.lastDecline!, ...codes } });
  assert.ok(prepaid.tries.length <= 2, `${prepaid.tries}`);
  assert.match(
    prepaid.decision.reasons.join(" "),
    /1 more retry is possible .* Few retries are advised for such a card/,
  );
});

test("a retry comes some minutes after its chosen time, always the same for a case, unless the window ends by then", () => {
  const [facts, history] = buildCase([buildInvoice("2026-05-11", [])]);
  const late = new Set<number>();
  for (let n = 0; n < 20; n++) {
    const own = { ...facts, caseId: `case ${n}` };
    const { decision, chosen } = decideLearned(
      buildDecisionContext(own, soonAfterFailure(facts), history),
      history,
      newLearnedModel(),
    );
    assert.equal(decision.kind, "retry");
    assert.equal(+decision.at - chosen!.at, jitterMs(own));
    late.add(jitterMs(own));
    // A window that ends between the chosen time and the delayed one.
    const short = { ...own, windowEndsAt: new Date(chosen!.at + jitterMs(own)) };
    const again = decideLearned(
      buildDecisionContext(short, soonAfterFailure(facts), history),
      history,
      newLearnedModel(),
    );
    if (again.decision.kind === "retry" && again.chosen!.at === chosen!.at)
      assert.equal(+again.decision.at, chosen!.at);
    assert.ok(again.decision.kind !== "retry" || again.decision.at < short.windowEndsAt);
  }
  assert.ok(late.size > 15 && Math.min(...late) >= 0 && Math.max(...late) < 15 * 60_000);
});
