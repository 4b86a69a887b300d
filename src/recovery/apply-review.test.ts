import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import type { Merchant } from "../domain/merchant.ts";
import { COMMAND_LINE_ACTOR } from "../domain/person.ts";
import type { Transaction } from "../domain/transaction.ts";
import { ingestTransactions } from "../ingest/ingest.ts";
import { auditReplay, replayExhausted } from "../merchants/replay.ts";
import { listAuditEntries } from "../tables/audit-log.ts";
import { openBalanceStage } from "./balance.fixture.ts";
import { DAY, MINUTE, START } from "./stage.fixture.ts";

const stage = await openBalanceStage();
after(() => stage.drop());
let merchant: Merchant;
beforeEach(async () => {
  merchant = await stage.enter();
});
const TOO_MUCH = { state: "PAID", amount: 490_000, networkDeclineCode: undefined } as const;
const listConflicts = async () => (await stage.conflicts()).map(({ kind, foundAt }) => [kind, foundAt]);

test("a conflict is recorded when contradictory facts are pushed, keeps its date, and is deleted when they agree", async () => {
  await stage.invoice();
  stage.wait(MINUTE);
  const foundAt = stage.now();
  await stage.transaction({ ...TOO_MUCH, id: "txn_1" });
  assert.deepEqual(await listConflicts(), [["paid_too_much", foundAt]]);
  stage.wait(MINUTE);
  await stage.invoice({ id: "inv_2", customerId: "cus_2" });
  await stage.invoice();
  assert.deepEqual(await listConflicts(), [["paid_too_much", foundAt]]);
  stage.wait(MINUTE);
  await stage.transaction({ ...TOO_MUCH, id: "txn_1", amount: 4900 });
  assert.deepEqual(await listConflicts(), []);
});

test("an undelivered retry is withdrawn before contradictory facts are acknowledged", async () => {
  await stage.invoice();
  await stage.decide();
  await stage.deliver();
  await stage.untilDecided();
  const [retry] = await stage.actions();
  const paid = { id: "txn_1", invoiceId: "inv_1", customerId: "cus_1", currency: "EUR", ...TOO_MUCH };
  const attempt: Transaction = { ...paid, createdAt: stage.now(), updatedAt: stage.now() };
  const withdrawn: string[] = [];
  await ingestTransactions(stage.db, merchant, [[attempt]], stage.ports, (_id, eventIds) => {
    withdrawn.push(...eventIds);
  });
  assert.deepEqual(withdrawn, [retry!.id]);
});

test("a case opens for the remaining amount when a part was pushed before the invoice", async () => {
  await stage.transaction({ state: "PAID", amount: 1000, networkDeclineCode: undefined });
  await stage.invoice();
  assert.deepEqual(await stage.outcomes(), [{ outcome: "open", amount: 3900, currency: "EUR" }]);
});

test("an open case takes the amount of a newer version until its window ends", async () => {
  await stage.invoice();
  const windowMs = merchant.windowDays * DAY;
  const amountAt = async (ms: number, amount: number) => {
    stage.at(START.getTime() + ms);
    await stage.invoice({ amount });
    return (await stage.outcomes())[0]!.amount;
  };
  assert.equal(await amountAt(windowMs - 1, 5000), 5000);
  assert.equal(await amountAt(windowMs, 6000), 5000);
});

test("a replay is written to the audit log once, with its result", async () => {
  await stage.invoice();
  await stage.decide();
  await stage.deliver();
  await stage.untilExhausted();
  const [undelivered] = await stage.actions();
  const eventIds = [undelivered!.id, "01900000-0000-7000-8000-ffffffffffff"];
  const again = () =>
    replayExhausted(
      stage.db,
      merchant.id,
      { eventIds },
      stage.ports,
      auditReplay(COMMAND_LINE_ACTOR, stage.ports, merchant.id),
    );
  const unknown = { eventId: eventIds[1], skip: "there is no such event" };
  assert.deepEqual(await again(), { replayed: [undelivered!.id], skipped: [unknown] });
  assert.deepEqual((await again()).replayed, []);
  const logged = await listAuditEntries(stage.db, merchant.id, { noun: "delivery" }, 10);
  assert.deepEqual(
    logged.map(({ operation, object, details }) => ({ operation, object, details })),
    [{ operation: "delivery.replayed", object: "exhausted events", details: { replayed: 1, skipped: 1 } }],
  );
});
