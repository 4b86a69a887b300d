import assert from "node:assert/strict";
import https from "node:https";
import { after, before, suite, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createSelfSignedCertificate } from "../self-signed-certificate.ts";
import { NOT_WORTH_RETRYING } from "./contract-records.ts";
import type { Shop } from "./contract-shop.ts";
import { eventually, type Service, useService } from "./running-service.ts";
import { type AnswerWebhook, answerInOrder } from "./webhook-endpoint.ts";

// "Merchant-hosted webhook endpoint (called by the service)".
const use = useService();
let service: Service;
before(async () => {
  service = await use.start();
});
after(() => use.end());

/** Causes one event of each type, or two of one. */
async function allTypes(shop: Shop) {
  const [retried, hopeless] = [shop.invoice(), shop.invoice()];
  await shop.push("transactions", shop.transaction(hopeless, NOT_WORTH_RETRYING));
  await shop.push("invoices", retried, hopeless);
  return eventually(() => shop.received.length >= 4 && shop.received, "the four events");
}

suite("the endpoint", { concurrency: 12 }, () => {
  test("method POST, content type application/json", async () => {
    for (const { method, headers } of (await allTypes(await service.shop())) as Shop["received"]) {
      assert.equal(method, "POST");
      assert.match(headers["content-type"] ?? "", /^application\/json(; *charset=utf-8)?$/);
    }
  });

  test("HTTPS only: an endpoint without a trusted certificate gets no request", async (t) => {
    let requests = 0;
    const stranger = https.createServer(await createSelfSignedCertificate(), (_request, response) => {
      requests++;
      response.end();
    });
    t.after(() => stranger.close());
    stranger.listen(service.sparePort, "127.0.0.1");
    const shop = await service.shop({ webhookUrl: `https://127.0.0.1:${service.sparePort}/hooks` });
    await shop.push("invoices", shop.invoice());
    const event = await eventually(async () => {
      const [found] = await shop.deliveries("pause_collection");
      return found && found.attempts > 0 ? found : null;
    }, "an attempt");
    assert.equal(event.status, null);
    assert.match(event.error ?? "", /certificate/);
    assert.equal(requests, 0);
  });

  test("one URL, {webhook_url}, is used for all event types", async () => {
    const shop = await service.shop();
    const received = (await allTypes(shop)) as Shop["received"];
    assert.deepEqual([...new Set(received.map(({ path }) => path))], [new URL(shop.hook.url).pathname]);
  });

  test("a flow diagram shows sub-paths: a merchant may have them, one for each type", async () => {
    const shop = await service.shop({ webhookSubPaths: true });
    for (const { path, json } of (await allTypes(shop)) as Shop["received"])
      assert.equal(path, `${new URL(shop.hook.url).pathname}/${json.type}`);
  });

  test("the request body is the event envelope", async () => {
    for (const { json } of (await allTypes(await service.shop())) as Shop["received"])
      assert.deepEqual(Object.keys(json), ["id", "type", "created", "data"]);
  });

  test("for a recovery action the flat shape is described at POST {webhook_url}/recovery_action: both can be chosen", async () => {
    const shop = await service.shop({ webhookFlat: true, webhookSubPaths: true });
    const received = (await allTypes(shop)) as Shop["received"];
    const [flat, ...others] = received.filter(({ path }) => path.endsWith("/recovery_action"));
    assert.deepEqual(others, []);
    assert.ok("requestId" in flat!.json && !("data" in flat!.json));
    assert.ok(received.filter((each) => each !== flat).every(({ json }) => "data" in json));
  });

  const successes: [string, AnswerWebhook][] = [
    ["200 without a body", answerInOrder(200)],
    ["200 with {success, message}", answerInOrder(200, JSON.stringify({ success: true, message: "taken" }))],
    ["200 with {}: both fields are optional", answerInOrder(200, "{}")],
    ["200 with a body that is not JSON", answerInOrder(200, "<html>OK</html>")],
    ["200 whose body says success: false: the status decides", answerInOrder(200, JSON.stringify({ success: false }))],
  ];
  for (const [what, answer] of successes)
    test(`success: ${what}`, async () => {
      const shop = await service.shop({ answer });
      await shop.push("invoices", shop.invoice());
      const done = async () => (await shop.deliveries()).filter(({ state }) => state === "delivered").length === 2;
      await eventually(done, "the delivery");
      await sleep(300);
      assert.equal(shop.received.length, 2);
    });

  const failures: [number, string][] = [
    [400, "invalid_request"],
    [401, "unauthorized"],
    [429, "rate_limit_exceeded"],
    [500, "server_error"],
  ];
  for (const [status, code] of failures)
    test(`failure of the flat form: ${status} with error_code ${code} is logged, and the request is repeated`, async () => {
      const body = JSON.stringify({ success: false, error_code: code, message: "no" });
      const answer: AnswerWebhook = (request, response, earlier) =>
        answerInOrder(earlier ? 200 : status, body)(request, response, 0);
      const shop = await service.shop({ answer, webhookFlat: true });
      await shop.push("invoices", shop.invoice());
      const event = await eventually(async () => {
        const [found] = await shop.deliveries("recovery_action");
        return found?.state === "delivered" ? found : null;
      }, "the second attempt");
      const [first, second] = await shop.attempts(event.eventId);
      assert.equal(first!.status, status);
      assert.equal(first!.response, body);
      assert.equal(second!.status, 200);
    });
});
