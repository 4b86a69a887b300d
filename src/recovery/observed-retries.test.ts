import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import type { TransactionFacts } from "../tables/transactions.ts";
import { openObservedStage } from "./observed.fixture.ts";
import { listFinishedRetries } from "./observed-retries.ts";
import { DAY, START } from "./stage.fixture.ts";

let stage: Awaited<ReturnType<typeof openObservedStage>>;
before(async () => {
  stage = await openObservedStage();
});
after(() => stage.drop());
beforeEach(() => stage.begin());

test("only Dunlin's own retries train the model when Dunlin handles the case", async () => {
  await stage.set({ shadow: false });
  await stage.recovered();
  assert.deepEqual(await stage.arms(), ["dunlin"]);
  assert.deepEqual(await stage.noted(), []);
});

test("attempts train the model in the order in which they were made when they are pushed late or together", async () => {
  stage.at(+START + 6 * DAY);
  await stage.transaction({ id: "b", createdAt: new Date(+START + 3 * DAY) });
  await stage.transaction({ id: "c", createdAt: new Date(+START + 5 * DAY) });
  await stage.transaction({ id: "a", createdAt: START });
  await stage.invoice({ updatedAt: START });
  await stage.decide();
  assert.deepEqual(await stage.noted(), ["b", "c"]);
});

test("each retry trains the model once, in the case in which it was made, when an invoice fails again", async () => {
  await stage.recovered();
  stage.at(+START + 8 * DAY);
  await stage.transaction({ id: "txn_5", state: "REFUNDED", createdAt: new Date(+START + 5 * DAY) });
  await stage.invoice();
  await stage.tried(9);
  await stage.tried(11);
  assert.equal((await stage.cases()).length, 2);
  assert.deepEqual(await stage.noted(), ["txn_3", "txn_5", "txn_9", "txn_11"]);
  const cases = await stage.notedCases();
  assert.deepEqual(cases, [cases[0], cases[0], cases[2], cases[2]]);
  assert.notEqual(cases[0], cases[2]);
});

test("an attempt after a payment belongs to the invoice's next case, even when both are pushed together", async () => {
  await stage.invoice();
  await stage.tried(0);
  stage.at(+START + 12 * DAY);
  const paidAt = new Date(+START + 5 * DAY);
  // The invoice's amount has changed by now, so only the step recognizes the payment.
  await stage.transaction({
    id: "paid",
    state: "PAID",
    amount: 4000,
    createdAt: paidAt,
    updatedAt: paidAt,
  });
  await stage.transaction({ id: "after", createdAt: new Date(+START + 9 * DAY) });
  await stage.invoice({ amount: 4000, updatedAt: new Date(+START + 1 * DAY) });
  await stage.decide();
  assert.equal((await stage.cases())[0]!.end, "paid");
  assert.deepEqual(await stage.noted(), ["paid"]);
  const refunded = new Date(+START + 7 * DAY);
  await stage.transaction({ id: "paid", state: "REFUNDED", amount: 4000, createdAt: paidAt, updatedAt: refunded });
  await stage.invoice({ amount: 4000, updatedAt: new Date(+START + 8 * DAY) });
  await stage.decide();
  assert.deepEqual(await stage.noted(), ["paid", "after"]);
});

const recoveryCase = { unpaidAt: START, windowEndsAt: new Date(+START + 28 * DAY), endedAt: null, paidAt: null };
const attempt = (day: number, overrides: Partial<TransactionFacts> = {}) =>
  ({
    id: `txn_${day}`,
    createdAt: new Date(+START + day * DAY),
    state: "FAILED",
    amount: 4900,
    ...overrides,
  }) as TransactionFacts;
const ids = (...[recoveryCase, onInvoice]: Parameters<typeof listFinishedRetries>) =>
  listFinishedRetries(recoveryCase, onInvoice).map(({ id }) => id);

test("first charges, customer payments, open or voided attempts and card checks are no finished retries", () => {
  const attempts = [
    attempt(0),
    attempt(1, { initiator: "CUSTOMER" }),
    attempt(2, { state: "PENDING" }),
    attempt(3, { state: "VOIDED" }),
    attempt(4, { state: "PAID", amount: 0 }),
    attempt(5),
    attempt(6, { state: "REFUNDED" }),
  ];
  assert.deepEqual(ids(recoveryCase, attempts), ["txn_5", "txn_6"]);
});

test("a case lasts until its payment, else its end, else the end of its window, plus minutes for clock differences", () => {
  const minute = 1 / 24 / 60;
  const attempts = [0, 5, 5 + minute, 6, 6 + minute, 28, 29].map((day) => attempt(day));
  const at = (day: number) => new Date(+START + day * DAY);
  assert.deepEqual(ids({ ...recoveryCase, endedAt: at(6), paidAt: at(5) }, attempts).length, 2);
  assert.deepEqual(ids({ ...recoveryCase, endedAt: at(6) }, attempts).length, 4);
  assert.deepEqual(ids(recoveryCase, attempts).length, 5);
});
