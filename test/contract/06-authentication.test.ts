import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { PERMISSIONS } from "../../src/domain/permission.ts";
import { BEARER, type Shop } from "./contract-shop.ts";
import { eventually, type Service, useService } from "./running-service.ts";
import { answerInOrder } from "./webhook-endpoint.ts";

// "Authentication", inbound and outbound.
const use = useService();
let service: Service;
let shop: Shop;
before(async () => {
  service = await use.start();
  shop = await service.shop({ endpoint: false });
});
after(() => use.end());

const OPERATIONS = [
  { method: "POST", path: "/ingest/v1/subscriptions", permission: "ingest:subscriptions" },
  { method: "POST", path: "/ingest/v1/invoices", permission: "ingest:invoices" },
  { method: "GET", path: "/v1/recovery_actions", permission: "read:recovery_actions" },
] as const;
const bodyOf = (path: string) => {
  if (path.endsWith("subscriptions")) return { subscriptions: [shop.subscription()] };
  return path.endsWith("invoices") ? { invoices: [shop.invoice()] } : undefined;
};
async function callAs(operation: (typeof OPERATIONS)[number], authorization: string | undefined, body?: object) {
  const { method, path } = operation;
  const given = body ?? bodyOf(path);
  const headers = {
    ...(authorization === undefined ? {} : { authorization }),
    ...(given ? { "content-type": "application/json" } : {}),
  };
  return service.call({ method, path, headers, ...(given ? { body: given } : {}) });
}

for (const operation of OPERATIONS) {
  const { method, path, permission } = operation;
  test(`${method} ${path}: carries Authorization: Bearer <API_KEY>, an API key issued by the service`, async () => {
    assert.equal((await callAs(operation, `Bearer ${shop.apiKey}`)).status, 200);
    assert.equal((await callAs(operation, `bearer ${shop.apiKey}`)).status, 200, "the scheme's case does not count");
  });

  test(`${method} ${path}: a missing key gives 401`, async () => {
    const { status, json, headers } = await callAs(operation, undefined);
    assert.equal(status, 401);
    assert.equal(json.code, 401);
    assert.match(headers["www-authenticate"] ?? "", /^Bearer/);
  });

  test(`${method} ${path}: an invalid key gives 401, whatever its defect`, async () => {
    const changed = shop.apiKey.slice(0, -1) + (shop.apiKey.endsWith("0") ? "1" : "0");
    const expired = await shop.key(PERMISSIONS, new Date(shop.now().getTime() - 1000));
    const basic = `Basic ${Buffer.from(`${shop.apiKey}:`).toString("base64")}`;
    for (const authorization of [
      "",
      "Bearer",
      "Bearer x",
      `Bearer ${changed}`,
      `Bearer ${expired}`,
      basic,
      shop.apiKey,
    ])
      assert.equal((await callAs(operation, authorization)).status, 401, authorization);
  });

  test(`${method} ${path}: a key without permission for the operation gives 403`, async () => {
    const others = await shop.key(PERMISSIONS.filter((name) => name !== permission));
    const { status, json } = await callAs(operation, `Bearer ${others}`);
    assert.equal(status, 403);
    assert.equal(json.code, 403);
    assert.equal((await callAs(operation, `Bearer ${await shop.key([permission])}`)).status, 200);
  });
}

test("a caller is authenticated before its body is checked", async () => {
  assert.equal((await callAs(OPERATIONS[0], undefined, { nonsense: 1 })).status, 401);
});

test("a key sees only its own merchant's actions", async () => {
  const own = await service.shop({ endpoint: false });
  const other = await service.shop({ endpoint: false });
  await other.push("invoices", other.invoice());
  await eventually(async () => (await other.actions()).length > 0, "the other's action");
  assert.equal((await own.list()).json.totalSize, 0);
});

suite("webhooks", { concurrency: 4 }, () => {
  test("the service authenticates with Authorization: Bearer <WEBHOOK_TOKEN>, the token that the merchant gave", async () => {
    const own = await service.shop();
    await own.push("invoices", own.invoice());
    await eventually(() => own.received.length === 2, "both events");
    for (const { headers } of own.received) assert.equal(headers.authorization, `Bearer ${BEARER}`);
  });

  test("or with Authorization: Basic <base64(username:password)>, which the merchant gave", async () => {
    const own = await service.shop({ credential: { auth: "basic", secret: "dunlin:pass:wörd" } });
    await own.push("invoices", own.invoice());
    await eventually(() => own.received.length === 2, "both events");
    const expected = `Basic ${Buffer.from("dunlin:pass:wörd").toString("base64")}`;
    for (const { headers } of own.received) assert.equal(headers.authorization, expected);
  });

  test("an endpoint that rejects the credentials answers 401: a failed attempt, and the log does not hold the token", async () => {
    const own = await service.shop({ answer: answerInOrder(401, `{"token":"${BEARER}"}`) });
    await own.push("invoices", own.invoice());
    const event = await eventually(async () => {
      const [found] = await own.deliveries("pause_collection");
      return found && found.attempts >= 2 ? found : null;
    }, "two attempts");
    assert.equal(event.state, "waiting");
    const [first] = await own.attempts(event.eventId);
    assert.equal(first!.status, 401);
    assert.ok(!first!.response!.includes(BEARER));
  });

  test("the service can supply its address ranges", async () => {
    const { status, json } = await service.call({ path: "/network.json" });
    assert.equal(status, 200);
    assert.ok(Array.isArray(json.egressRanges));
  });
});
