import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import type { Transaction } from "../domain/transaction.ts";
import { loadExplainedCase } from "../explain/load-explained-case.ts";
import { DAY, openStage, START } from "./stage.fixture.ts";

// The facts that a case loads must not depend on the other cases in its batch.

const stage = await openStage();
after(() => stage.drop());
let merchantId: string;
beforeEach(async () => {
  merchantId = (await stage.enter()).id;
});

const daysAgo = (days: number) => ({ createdAt: new Date(+START - days * DAY) });
const buildEarlierAttempt = (days: number, overrides: Partial<Transaction>) =>
  stage.transaction({ invoiceId: `inv_${days}`, ...daysAgo(days), ...overrides });
const PAID = { state: "PAID", networkDeclineCode: undefined } as const;

/**
 * Returns the facts of invoice 1's first decision. The invoice became unpaid this many days ago; another customer's invoice may
 * be stepped with it.
 */
async function decideWithHistory(days: number, daysOnOtherCard: number | null) {
  await stage.invoice({ updatedAt: daysAgo(days).createdAt });
  await stage.transaction(daysAgo(days));
  if (daysOnOtherCard !== null)
    await stage.invoice({ id: "inv_f", customerId: "cus_f", updatedAt: daysAgo(daysOnOtherCard).createdAt });
  await stage.decide();
  const { decisions } = (await loadExplainedCase(stage.db, merchantId, "inv_1", stage.now()))!;
  const [{ kind, account }] = decisions as [(typeof decisions)[0]];
  return { kind, known: account.known };
}

/** Asserts the same facts alone and beside a case of another age, and returns them. */
async function isSameBeside(days: number, daysOnOtherCard: number, past: () => Promise<unknown>) {
  await past();
  const alone = await decideWithHistory(days, null);
  merchantId = (await stage.enter()).id;
  await past();
  assert.deepEqual(await decideWithHistory(days, daysOnOtherCard), alone);
  return alone;
}

test("a case loads the same facts alone and beside an older one", async () => {
  const stranger = { customerId: "cus_d", invoiceId: "inv_d" };
  const { kind, known } = await isSameBeside(0, 25, async () => {
    await stage.invoice({ id: "inv_200", state: "PAID", ...daysAgo(200) });
    await buildEarlierAttempt(200, { cardFingerprint: "fp_old" });
    await buildEarlierAttempt(190, { networkDeclineCode: "41" });
    await buildEarlierAttempt(185, PAID);
    await stage.transaction({ ...stranger, cardFingerprint: "fp_old", ...PAID, ...daysAgo(30) });
    await stage.transaction({ ...stranger, cardFingerprint: "fp_d", networkDeclineCode: "51", ...daysAgo(2) });
  });
  assert.equal(kind, "retry");
  assert.match(known.join(" "), /The previous invoice's first attempt was not declined/, "that attempt is too old");
  merchantId = (await stage.enter()).id;
  const barred = await isSameBeside(0, 25, () => buildEarlierAttempt(190, { networkDeclineCode: "41" }));
  assert.equal(barred.kind, "card_change");
});

test("a case loads the same facts alone and beside a younger one", async () => {
  const { kind } = await isSameBeside(25, 0, () => buildEarlierAttempt(195, { networkDeclineCode: "41" }));
  assert.equal(kind, "card_change");
});

test("invoices more than 400 days older than a case do not affect it, alone or beside one of another age", async () => {
  const loadInvoices = async () => {
    for (const days of [30, 410]) await stage.invoice({ id: `bill_${days}`, state: "PAID", ...daysAgo(days) });
  };
  const { known } = await isSameBeside(0, 25, loadInvoices);
  assert.match(known.join(" "), /The previous invoice's first attempt was not declined/);
  merchantId = (await stage.enter()).id;
  const older = await isSameBeside(25, 0, loadInvoices);
  assert.match(
    older.known.join(" "),
    /The first attempt was declined on none of the latest 2 invoices before this one/,
  );
});

test("an attempt on the invoice itself is loaded however old it is, and reported once", async () => {
  await stage.invoice();
  await stage.transaction({ ...daysAgo(200), networkDeclineCode: "41" });
  await stage.decide();
  const { decisions } = (await loadExplainedCase(stage.db, merchantId, "inv_1", stage.now()))!;
  const { reasons, known } = decisions[0]!.account;
  assert.match(reasons[0]!, /^The last attempt failed: the card was reported lost/);
  assert.equal(known.filter((sentence) => sentence.startsWith("An attempt failed on")).length, 1, known.join("\n"));
});
