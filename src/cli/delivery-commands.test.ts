import assert from "node:assert/strict";
import { test } from "node:test";
import { createTestDatabase } from "../../test/database.ts";
import { makeEvents, makeMerchant, realPorts, START } from "../delivery/deliverer.fixture.ts";
import { HOUR_MS } from "../domain/durations.ts";
import { ingestInvoices } from "../ingest/ingest-invoices.ts";
import { prepared } from "../postgres/database.ts";
import { withdrawEvents } from "../tables/events.ts";
import { findMerchant } from "../tables/merchants.ts";
import { runAndCapture } from "./context.fixture.ts";
import { deliveryList, deliveryReplay, deliveryShow } from "./delivery-commands.ts";

const CREATED = prepared("test_created", "update events set created_at = $1 where id = $2");

test("`delivery list` shows when each plan and event was created, in UTC, latest plan first", async (t) => {
  const { db, drop } = await createTestDatabase();
  t.after(drop);
  const merchant = await makeMerchant(db);
  const [planned] = await makeEvents(db, merchant, 1, START);
  const [paused] = await makeEvents(db, merchant, 1, new Date(START.getTime() + HOUR_MS), "pause_collection");
  await db.run(CREATED, [new Date(START.getTime() + 72 * HOUR_MS), planned!.id]);
  const [head, ...rows] = (await runAndCapture(db, deliveryList, {}, [])).split("\n");
  assert.match(head!, /^PLAN MADE +CREATED +TYPE +EVENT/);
  assert.deepEqual(
    rows.map((row) => row.split(/ {2,}/).slice(0, 4)),
    [
      ["2026-03-02T11:00Z", "2026-03-02T11:00Z", "pause_collection", paused!.id],
      ["2026-03-02T10:00Z", "2026-03-05T10:00Z", "recovery_action", planned!.id],
    ],
  );
});

test("`delivery show` prints the event's invoice, merchant and delivery state", async (t) => {
  const { db, drop } = await createTestDatabase();
  t.after(drop);
  const merchant = await makeMerchant(db);
  const [event] = await makeEvents(db, merchant, 1, START);
  const { id, invoiceId } = event!;
  const { name } = (await findMerchant(db, merchant.id))!;
  const head = async () => (await runAndCapture(db, deliveryShow, {}, [id])).split("\n").slice(0, 5);
  assert.deepEqual(await head(), [
    "recovery_action of 2026-03-02T10:00:00.000Z",
    `invoice   ${invoiceId}`,
    `merchant  ${name} ${merchant.id}`,
    "state     waiting, next 2026-03-02T10:00:00.000Z",
    "body",
  ]);
  await withdrawEvents(db, merchant.id, [], [id], START);
  assert.equal((await head())[3], "state     withdrawn");
});

test("an event or invoice identifies its merchant when --merchant is missing", async (t) => {
  const { db, drop } = await createTestDatabase();
  t.after(drop);
  const [first, second] = [await makeMerchant(db), await makeMerchant(db)];
  const [event] = await makeEvents(db, second, 1, START);
  const [other] = await makeEvents(db, first, 1, START);
  const { id, invoiceId } = event!;

  assert.match(await runAndCapture(db, deliveryShow, {}, [id]), /^recovery_action of 2026-03-02T10:00:00\.000Z/);
  const skipped = "0 sent again, 1 skipped.\n  1 skipped: it is still being sent";
  assert.equal(await runAndCapture(db, deliveryReplay, {}, [id]), skipped);
  await assert.rejects(runAndCapture(db, deliveryShow, { merchant: first.id }, [id]), /The merchant has no event/);
  const unknown = "01a22279-7136-7002-ba46-64c872600e9a";
  for (const command of [deliveryShow, deliveryReplay])
    for (const unknownId of [unknown, "inv_1"])
      await assert.rejects(runAndCapture(db, command, {}, [unknownId]), new RegExp(`There is no event ${unknownId}`));
  await assert.rejects(
    runAndCapture(db, deliveryReplay, {}, [id, other!.id]),
    /These events belong to 2 merchants\. Choose one with --merchant/,
  );
  await assert.rejects(runAndCapture(db, deliveryReplay, { all: true }, []), /There are several merchants/);
  await assert.rejects(runAndCapture(db, deliveryList, {}, []), /There are several merchants/);

  const listed = () => runAndCapture(db, deliveryList, { invoice: invoiceId }, []);
  await assert.rejects(listed(), /There are several merchants/);
  const now = realPorts.now();
  const invoice = { id: invoiceId, customerId: "cus_1", amount: 900, currency: "EUR", state: "PAID" as const };
  await ingestInvoices(db, second, [[{ ...invoice, createdAt: now, updatedAt: now }]], realPorts, () => {});
  assert.ok((await listed()).includes(id));
});
