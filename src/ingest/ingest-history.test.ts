import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import type { Merchant } from "../domain/merchant.ts";
import type { Transaction } from "../domain/transaction.ts";
import { buildInvoice, DAY, MINUTE, openStage, START } from "../recovery/stage.fixture.ts";
import { importTransactions } from "./ingest.ts";
import { importInvoices, ingestInvoices } from "./ingest-invoices.ts";

// Cases of old invoices and imported history.
const stage = await openStage();
after(() => stage.drop());
let merchant: Merchant;
beforeEach(async () => {
  merchant = await stage.enter();
});

test("an invoice without updatedAt opens a case when it was created today, and none when it was created long ago", async () => {
  const undated = (id: string, days: number) =>
    buildInvoice({ id, createdAt: new Date(START.getTime() - days * DAY), updatedAt: undefined });
  const push = (id: string, days: number) =>
    ingestInvoices(stage.db, merchant, [[undated(id, days)]], stage.ports, () => {});
  await push("inv_1", 90);
  assert.equal((await stage.cases()).length, 0);
  await push("inv_2", 0);
  assert.equal((await stage.cases()).length, 1);
});

test("imported history opens no case when a payment no longer counts", async () => {
  const attempt = (overrides: Partial<Transaction>) =>
    [
      [
        {
          ...{ id: "txn_1", state: "PAID", invoiceId: "inv_1", customerId: "cus_1", amount: 4900, currency: "EUR" },
          ...{ createdAt: START, updatedAt: START, networkDeclineCode: "51", ...overrides },
        },
      ],
    ] satisfies Transaction[][];
  await importInvoices(stage.db, merchant, [[buildInvoice()]], stage.ports, () => {});
  await importTransactions(stage.db, merchant, attempt({}), stage.ports, () => {});
  const failed = attempt({ state: "FAILED", updatedAt: new Date(START.getTime() + MINUTE) });
  await importTransactions(stage.db, merchant, failed, stage.ports, () => {});
  assert.deepEqual(await stage.cases(), []);
});
