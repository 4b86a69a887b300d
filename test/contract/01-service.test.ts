import assert from "node:assert/strict";
import { once } from "node:events";
import http from "node:http";
import { after, before, suite, test } from "node:test";
import tls from "node:tls";
import { findWebhookUrlProblem } from "../../src/delivery/https/address-guard.ts";
import { NOT_WORTH_RETRYING } from "./contract-records.ts";
import { eventually, type Service, useService } from "./running-service.ts";

// "What the service does" and its table "Transport rules for both directions".
const use = useService();
let service: Service;
before(async () => {
  service = await use.start();
});
after(() => use.end());

suite("the service", { concurrency: 12 }, () => {
  test("a merchant pushes subscriptions and invoices into the service in batches", async () => {
    const shop = await service.shop({ endpoint: false });
    const { status } = await shop.post("subscriptions", [shop.subscription(), shop.subscription()]);
    assert.equal(status, 200);
    assert.equal((await shop.post("invoices", [shop.invoice(), shop.invoice()])).status, 200);
  });

  test("the instructions sent are: retry a payment, pause automatic collection, and complete dunning for an invoice", async () => {
    const shop = await service.shop();
    const [retried, hopeless] = [shop.invoice(), shop.invoice()];
    await shop.push("transactions", shop.transaction(hopeless, NOT_WORTH_RETRYING));
    await shop.push("invoices", retried, hopeless);
    await eventually(() => shop.received.length === 4, "the fourth event");
    const told = (invoice: object) =>
      shop.received.filter(
        ({ json }) => (json.data as { invoiceId: string }).invoiceId === (invoice as { id: string }).id,
      );
    assert.deepEqual(
      told(retried)
        .map(({ json }) => json.type)
        .sort(),
      ["pause_collection", "recovery_action"],
    );
    assert.deepEqual(
      told(hopeless)
        .map(({ json }) => json.type)
        .sort(),
      ["complete_dunning", "pause_collection"],
    );
  });

  test("a merchant reads the list of recovery actions through a paginated, filterable listing", async () => {
    const shop = await service.shop({ endpoint: false });
    const invoices = [shop.invoice(), shop.invoice()];
    await shop.push("invoices", ...invoices);
    await eventually(async () => (await shop.actions()).length === 2, "both actions");
    const { json } = await shop.list({ pageSize: 1 });
    assert.notEqual(json.nextPageToken, "");
    const [action] = await shop.actions({ invoiceId: String(invoices[1]!.id) });
    assert.equal(action!.invoiceId, invoices[1]!.id);
  });

  test("HTTPS only: the API does not serve unencrypted HTTP", async () => {
    const shop = await service.shop({ endpoint: false });
    const url = service.baseUrl.replace("https:", "http:");
    const request = http.get(`${url}/v1/recovery_actions`, { headers: { authorization: `Bearer ${shop.apiKey}` } });
    const [response] = (await once(request, "response")) as [http.IncomingMessage];
    const body = Buffer.concat(await response.toArray()).toString();
    assert.equal(response.statusCode, 400);
    assert.match(body, /HTTPS only/);
    assert.doesNotMatch(body, /recoveryActions/);
  });

  test("HTTPS only: the certificate verifies against the service's authority, with TLS 1.2 and 1.3", async () => {
    const port = Number(new URL(service.baseUrl).port);
    for (const version of ["TLSv1.2", "TLSv1.3"] as const) {
      const limits = { minVersion: version, maxVersion: version };
      const socket = tls.connect({ host: "localhost", servername: "localhost", port, ca: service.ca, ...limits });
      await once(socket, "secureConnect");
      assert.equal(socket.authorized, true);
      assert.equal(socket.getProtocol(), version);
      socket.destroy();
    }
  });

  test("HTTPS only: a webhook URL of unencrypted HTTP is refused, by the command and by the database", async () => {
    assert.match(findWebhookUrlProblem("http://shop.example/hooks", []) ?? "", /https:/);
    await assert.rejects(service.shop({ webhookUrl: `http://127.0.0.1:${service.sparePort}/hooks` }), /webhook_url/);
  });

  test("body format JSON: every reply of the API is JSON in UTF-8", async () => {
    const shop = await service.shop({ endpoint: false });
    for (const { headers } of [
      await shop.list(),
      await shop.post("invoices", [{}]),
      await shop.call({ path: "/none" }),
    ])
      assert.match(headers["content-type"] ?? "", /^application\/json; charset=utf-8$/);
  });

  test("body format UTF-8: text outside ASCII comes back as it was sent, in listings and in webhooks", async () => {
    const shop = await service.shop();
    const invoice = shop.invoice({ id: "Rechnung-№7-顧客-😀", customerId: "Zoë" });
    await shop.push("invoices", invoice);
    await eventually(() => shop.received.length === 2, "both events");
    for (const { json } of shop.received) assert.equal((json.data as { invoiceId: string }).invoiceId, invoice.id);
    const [action] = await shop.actions({ customerId: "Zoë" });
    assert.equal(action!.invoiceId, invoice.id);
  });

  test("body format UTF-8: a body in another encoding is a 400", async () => {
    const shop = await service.shop({ endpoint: false });
    const body = Buffer.from(JSON.stringify({ invoices: [shop.invoice({ customerId: "Zoë" })] }), "latin1");
    const headers = { "content-type": "application/json" };
    const { status } = await shop.call({ method: "POST", path: "/ingest/v1/invoices", headers, body });
    assert.equal(status, 400);
  });

  test("body format JSON: a body that is not JSON is a 400, and another content type a 415", async () => {
    const shop = await service.shop({ endpoint: false });
    const send = (type: string, body: string) =>
      shop.call({ method: "POST", path: "/ingest/v1/invoices", headers: { "content-type": type }, body });
    assert.equal((await send("application/json", "{invoices: []}")).status, 400);
    assert.equal((await send("text/plain", JSON.stringify({ invoices: [shop.invoice()] }))).status, 415);
  });
});
