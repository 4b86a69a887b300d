import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { COMMAND_LINE_ACTOR } from "../../domain/person.ts";
import { startExperiment } from "../../experiments/experiments.ts";
import { ingestInvoices } from "../../ingest/ingest-invoices.ts";
import { createMerchant } from "../../merchants/merchant-settings.ts";
import { listAuditEntries } from "../../tables/audit-log.ts";
import { listDeliveries } from "../../tables/delivery-states.ts";
import { createTestConsole, SECRET_KEYS, type TestConsole } from "../console.fixture.ts";

let at: TestConsole;
before(async () => {
  at = await createTestConsole();
});
after(() => at.close());

async function shop() {
  const credential = { auth: "bearer", secret: "t" } as const;
  const settings = { webhookUrl: "https://shop.example/hooks", credential };
  const merchant = await createMerchant(at.db, "Shop", settings, SECRET_KEYS, at.ports);
  const push = (id: string, state: "UNPAID" | "PAID" = "UNPAID") => {
    const now = at.ports.now();
    const of = { customerId: "cus_1", amount: 4_900, currency: "EUR", createdAt: now, updatedAt: now };
    return ingestInvoices(at.db, merchant, [[{ ...of, id, state }]], at.ports, () => {});
  };
  return {
    merchant,
    push,
    as: async (role: "admin" | "developer" | "viewer") => at.browser(await at.person(role, merchant)),
    sent: async () => (await listDeliveries(at.db, merchant.id, { limit: 10 })).map(({ type, state }) => [type, state]),
    audited: () => listAuditEntries(at.db, merchant.id, { noun: "recovery" }, 10),
  };
}

const FORM =
  /<summary>Stop recovery<[\s\S]*action="\/invoices\/stop"[\s\S]*complete_dunning[\s\S]*<button class="danger">/;

test("a form stops the recovery of an invoice once, and the page and the audit log show it", async () => {
  const { merchant, push, as, sent, audited } = await shop();
  const id = "in/a ?&";
  await push(id);
  const browser = await as("developer");
  const path = `/invoices/${encodeURIComponent(id)}`;
  assert.match((await browser.get(path)).body, FORM);
  const caseId = (await browser.get(path)).body.match(/name="caseId" value="([0-9a-f-]{36})"/)![1]!;
  const toSend = at.toSend.length;
  const reply = await browser.post("/invoices/stop", { invoiceId: id, caseId, reason: " they complained " });
  assert.deepEqual([reply.statusCode, reply.headers.location], [303, `${path}?done=stopped`]);
  const page = (await browser.get(String(reply.headers.location))).body;
  assert.match(page, /role="status">Recovery stopped\./);
  assert.match(
    page,
    /unpaid, not in recovery[\s\S]*not recovered[\s\S]*stopped by hand[\s\S]*Recovery ended: stopped by hand/,
  );
  assert.doesNotMatch(page, FORM);
  assert.deepEqual(await sent(), [["complete_dunning", "waiting"]]);
  assert.deepEqual(at.toSend.slice(toSend), [merchant.id]);
  const again = await browser.post("/invoices/stop", { invoiceId: id });
  assert.equal(again.statusCode, 409);
  assert.match(again.body, /nothing to stop\. The case ended already: a person stopped/);
  const [said, ...others] = await audited();
  assert.deepEqual(
    [said!.actor, said!.object, said!.details],
    [browser.person.email, id, { reason: "they complained" }],
  );
  assert.deepEqual(others, []);
  const admin = await as("admin");
  assert.match(
    (await admin.get("/org/audit?noun=recovery")).body,
    /recovery stopped[\s\S]*in\/a \?&amp;[\s\S]*they complained/,
  );
  assert.match((await admin.get("/invoices?outcome=lost")).body, />1 case, [\s\S]*stopped by hand/);
  assert.match(
    (await admin.get("/overview")).body,
    /Not recovered<\/dt><dd class="value"><a[^>]+>[^<]+<\/a><\/dd><dd class="note">1 invoice</,
  );
});

test("a form loaded before the invoice became unpaid again does not stop the new case", async () => {
  const { push, as } = await shop();
  await push("in_a");
  const browser = await as("developer");
  const stale = await browser.post("/invoices/stop", {
    invoiceId: "in_a",
    caseId: "00000000-0000-7000-8000-000000000000",
  });
  assert.equal(stale.statusCode, 409);
  assert.match(stale.body, /There is nothing to stop\. The recovery that you saw is over/);
  assert.match((await browser.get("/invoices/in_a")).body, FORM);
});

test("a role without permission to stop recovery sees no form, and forged or cross-site forms are refused", async () => {
  const { push, as, sent, audited } = await shop();
  await push("in_a");
  const viewer = await as("viewer");
  assert.doesNotMatch((await viewer.get("/invoices/in_a")).body, FORM);
  const refused = await viewer.post("/invoices/stop", { invoiceId: "in_a" });
  assert.equal(refused.statusCode, 403);
  assert.match(refused.body, /Your role \(viewer\) does not allow this operation: stop the recovery of an invoice/);
  const elsewhere = { "sec-fetch-site": "cross-site" };
  assert.equal((await (await as("admin")).post("/invoices/stop", { invoiceId: "in_a" }, elsewhere)).statusCode, 403);
  const stranger = await (await shop()).as("admin");
  assert.equal((await stranger.post("/invoices/stop", { invoiceId: "in_a" })).statusCode, 404);
  assert.equal((await stranger.post("/invoices/stop")).statusCode, 404);
  assert.deepEqual([await sent(), await audited()], [[], []]);
  assert.match((await viewer.get("/invoices/in_a")).body, /in recovery/);
});

test("the page says why recovery cannot be stopped when Dunlin requests nothing", async () => {
  const { merchant, push, as, sent } = await shop();
  const plan = { name: "Holdout", calibrationDays: 7 };
  await at.db.transaction((tx) => startExperiment(tx, merchant.id, plan, COMMAND_LINE_ACTOR, at.ports));
  await push("in_a");
  const browser = await as("admin");
  const page = (await browser.get("/invoices/in_a")).body;
  assert.doesNotMatch(page, FORM);
  assert.match(page, /There is nothing to stop\. An experiment assigned this customer/);
  assert.equal((await browser.post("/invoices/stop", { invoiceId: "in_a" })).statusCode, 409);
  at.clock.serviceMs += 60_000;
  await push("in_a", "PAID");
  assert.doesNotMatch((await browser.get("/invoices/in_a")).body, /nothing to stop/);
  assert.deepEqual(await sent(), []);
});
