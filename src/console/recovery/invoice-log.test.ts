import assert from "node:assert/strict";
import { test } from "node:test";
import type { Case, CaseArm } from "../../domain/case.ts";
import type { DecisionRecord } from "../../domain/decision.ts";
import type { RecoveryAction } from "../../domain/recovery-action.ts";
import { findZone } from "../../engine/local-time.ts";
import type { ExplainedCase } from "../../explain/load-explained-case.ts";
import type { ShownAction, ShownTransaction } from "../../tables/invoice-history.ts";
import { htmlText } from "../html.ts";
import { type InvoiceHistory, invoiceLog } from "./invoice-log.ts";

const day = (n: number) => new Date(Date.UTC(2026, 2, n, 8));
const explained: ExplainedCase = {
  invoice: {
    id: "in_1",
    state: "UNPAID",
    customerId: "cus_1",
    amount: 4_900,
    currency: "EUR",
    createdAt: day(1),
    updatedAt: day(1),
  },
  case: null,
  earlierCases: [],
  actions: [],
  transactions: [],
  payer: {},
  decisions: [],
  balance: null,
  smallestAmount: 0,
  rule: null,
  requests: [],
  now: day(3),
};
const history = {
  explained,
  actions: [],
  deliveries: [],
  transactions: [],
  decisions: [],
  shownDecision: null,
} as const;
const declined: ShownTransaction = {
  id: "t",
  state: "FAILED",
  amount: 4_900,
  currency: "EUR",
  createdAt: day(1),
  paymentMethodType: "card",
  cardBrand: "visa",
  cardLast4: "4242",
  networkDeclineCode: "51",
  networkAdviceCode: null,
  paymentGatewayErrorCode: null,
  paymentGatewayErrorMessage: null,
  initiator: null,
  recoveryActionId: null,
};
const UTC = { zone: findZone("UTC")!, readerZone: "Europe/Berlin" };
const render = (of: Partial<InvoiceHistory>, isWhole = false) =>
  htmlText(invoiceLog({ ...history, ...of }, isWhole, UTC, null));
const titles = (of: Partial<InvoiceHistory>, isWhole = false) =>
  [...render(of, isWhole).matchAll(/<b>(.*?)<\/b>/g)].map(([, title]) => title);

test("a replanned retry is shown after the cause of its new plan", () => {
  const action: ShownAction = {
    id: "a",
    type: "RETRY",
    status: "SCHEDULED",
    actionSuggestion: "RETRY",
    idealRetryTime: day(5),
    reasons: [],
    decidedAt: null,
    executedAt: null,
    attemptedAt: null,
    createdAt: day(1),
  };
  const planned = (n: number) =>
    ({ actionId: "a", madeAt: day(n), account: { days: [] } }) as unknown as DecisionRecord;
  const transactions = [{ ...declined, createdAt: day(2) }];
  const [later, cause] = titles({ actions: [action], transactions, decisions: [planned(1), planned(2)] });
  assert.deepEqual([later, cause], ["Planned: retry", "Payment attempt: failed"]);
});

test("a transaction without an amount is shown as a card check", () => {
  const check: ShownTransaction = { ...declined, state: "VOIDED", amount: 0, networkDeclineCode: null };
  assert.deepEqual(titles({ transactions: [check] }), ["Card check: voided", "Invoice created"]);
  assert.match(render({ transactions: [check] }), /No money moved on Visa …4242/);
});

const recoveryCase = (over: Partial<Case>) =>
  ({
    id: "k",
    arm: "dunlin",
    openedAt: day(1),
    endedAt: null,
    endReason: null,
    windowEndsAt: day(29),
    ...over,
  }) as Case;
const decisionOf = (kind: string, caseId = "k") =>
  ({ caseId, kind, madeAt: day(2), account: { reasons: ["So it is."], days: [] } }) as unknown as DecisionRecord;

test("an open case shows that it waits, and leaves the reason to the answers", () => {
  const shown = (kinds: string[], arm: CaseArm = "dunlin") => ({
    explained: { ...explained, case: recoveryCase({ arm }) },
    decisions: kinds.map((kind) => decisionOf(kind)),
  });
  const of = shown(["card_change", "wait"]);
  assert.deepEqual(titles(of), ["Decided: wait", "Recovery began", "Invoice created"]);
  assert.doesNotMatch(render(of), /So it is/);
  assert.deepEqual(titles(shown(["wait", "retry"])), ["Recovery began", "Invoice created"]);
  assert.deepEqual(titles(shown(["wait"], "merchant")), ["Recovery began", "Invoice created"]);
});

test("the timeline shows why earlier cases were given up, and leaves the latest case to the answers", () => {
  const ended = { endedAt: day(2), endReason: "hopeless" } as const;
  const page = (id: string) =>
    render({
      explained: {
        ...explained,
        earlierCases: [recoveryCase({ id: "e", ...ended })],
        case: recoveryCase({ id: "k", ...ended }),
      },
      decisions: [decisionOf("stop", id)],
    });
  assert.match(page("e"), /Recovery ended: hopeless.*<li>So it is\.<\/li>/s);
  assert.doesNotMatch(page("k"), /So it is/);
});

test("the timeline shows the reasons of past requests, and leaves the current plan to the answers", () => {
  const action = { id: "a", type: "RETRY", status: "SENT", idealRetryTime: day(2), reasons: ["So it is."] } as const;
  const shown = { ...action, decidedAt: day(1), executedAt: null, createdAt: day(1) } as unknown as ShownAction;
  const page = (over: Partial<Case>) => {
    const latest = { ...explained, case: recoveryCase(over), actions: [shown as unknown as RecoveryAction] };
    return render({ explained: latest, actions: [shown] });
  };
  assert.doesNotMatch(page({}), /So it is/);
  assert.match(page({ endedAt: day(2), endReason: "paid" }), /Decided: retry.*So it is/s);
});

test("the attempt of a retry is one entry, named as the retry", () => {
  const action = { id: "a", type: "RETRY", status: "FAILED", idealRetryTime: day(2), reasons: [] } as const;
  const shown = { ...action, decidedAt: day(1), executedAt: day(2), createdAt: day(1) } as unknown as ShownAction;
  const named = { ...declined, createdAt: day(2), recoveryActionId: "a" };
  assert.deepEqual(titles({ actions: [shown], transactions: [named] }), [
    "The retry failed",
    "Decided: retry",
    "Invoice created",
  ]);
  const paid = { ...named, state: "PAID" } as const;
  assert.equal(titles({ actions: [shown], transactions: [paid] })[0], "The retry succeeded");
  assert.deepEqual(titles({ actions: [shown] }), ["The retry failed", "Decided: retry", "Invoice created"]);
});

test("the log shows the newest twelve entries, and all of them with open reasons when asked", () => {
  const transactions = Array.from({ length: 20 }, (_, n) => ({ ...declined, id: `t${n}`, createdAt: day(n + 1) }));
  const action = {
    id: "a",
    type: "RETRY",
    status: "CANCELED",
    idealRetryTime: day(29),
    reasons: ["So it is."],
  } as const;
  const actions = [{ ...action, decidedAt: null, executedAt: null, createdAt: day(28) } as unknown as ShownAction];
  assert.equal(titles({ transactions, actions }).length, 12);
  assert.match(render({ transactions, actions }), /<details><summary><b>Planned/);
  assert.match(render({ transactions, actions }), /href="\?show=all#log">Show all 22 entries, with the reasons/);
  assert.equal(titles({ transactions, actions }, true).length, 22);
  assert.match(render({ transactions, actions }, true), /<details open><summary><b>Planned[\s\S]*Show the latest 12/);
});

test("the message of a gateway is folded, and cannot be markup", () => {
  const page = render({ transactions: [{ ...declined, paymentGatewayErrorMessage: "<b>no</b>" }] });
  assert.match(page, /<details><summary>[\s\S]*<p>Message of the gateway: &lt;b&gt;no&lt;\/b&gt;<\/p><\/details>/);
});

test("times in the log are the customer's, and the reader's in the tooltip", () => {
  const page = render({});
  assert.match(page, /title="Your time \(Europe\/Berlin\): 1 Mar 2026 09:00">1 Mar, 08:00<[\s\S]*/);
});
