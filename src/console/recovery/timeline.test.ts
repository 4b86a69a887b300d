import assert from "node:assert/strict";
import { test } from "node:test";
import type { Case } from "../../domain/case.ts";
import type { DecisionRecord } from "../../domain/decision.ts";
import type { ShownAction, ShownTransaction } from "../../store/invoice-history.ts";
import { textOf } from "../html.ts";
import { timeline } from "./timeline.ts";

const day = (n: number) => new Date(Date.UTC(2026, 2, n, 8));
const history = {
  invoice: {
    id: "in_1",
    state: "UNPAID",
    customerId: "cus_1",
    amount: 4_900,
    currency: "EUR",
    createdAt: day(1),
    updatedAt: day(1),
  },
  cases: [],
  actions: [],
  deliveries: [],
  transactions: [],
  decisions: [],
  shown: null,
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
const titles = (of: Partial<Parameters<typeof timeline>[0]>) =>
  [...textOf(timeline({ ...history, ...of }, "UTC", day(3))).matchAll(/<h3>(.*?) ?<(?:time|span)/g)].map(
    ([, title]) => title,
  );

test("a retry that was planned anew stands after what it was planned anew for", () => {
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
  const made = (n: number) => ({ actionId: "a", madeAt: day(n), account: { days: [] } }) as unknown as DecisionRecord;
  const transactions = [{ ...declined, createdAt: day(2) }];
  const [later, cause] = titles({ actions: [action], transactions, decisions: [made(1), made(2)] });
  assert.deepEqual([later, cause], ["Planned: retry at", "Payment attempt: failed"]);
});

test("a transaction without an amount is a check of a card, at which no money moved", () => {
  const check: ShownTransaction = { ...declined, state: "VOIDED", amount: 0, networkDeclineCode: null };
  assert.deepEqual(titles({ transactions: [check] }), ["Check of a card: voided", "Invoice created"]);
  assert.match(textOf(timeline({ ...history, transactions: [check] }, "UTC", day(3))), /No money moved on Visa …4242/);
});

test("an open case that waits says so, with its reasons, as long as it does", () => {
  const kase = { id: "k", arm: "dunlin", openedAt: day(1), endedAt: null, endReason: null, windowEndsAt: day(29) };
  const made = (kind: string) =>
    ({ caseId: "k", kind, madeAt: day(2), account: { reasons: ["None came so far."] } }) as unknown as DecisionRecord;
  const shown = (kinds: string[], arm = "dunlin") => ({
    cases: [{ ...kase, arm } as unknown as Case],
    decisions: kinds.map(made),
  });
  assert.deepEqual(titles(shown(["card_change", "wait"])), ["Decided: wait", "Recovery began", "Invoice created"]);
  assert.match(
    textOf(timeline({ ...history, ...shown(["wait"]) }, "UTC", day(3))),
    /Decided: wait.*None came so far\./s,
  );
  assert.deepEqual(titles(shown(["wait", "retry"])), ["Recovery began", "Invoice created"]);
  assert.deepEqual(titles(shown(["wait"], "merchant")), ["Recovery began", "Invoice created"]);
});
