import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { ApiReply } from "./api-caller.ts";
import type { Kind, Shop } from "./contract-shop.ts";
import { type Service, useService } from "./running-service.ts";

// "Errors": the answers of the inbound operations.
const use = useService();
let service: Service;
let shop: Shop;
before(async () => {
  service = await use.start();
  shop = await service.shop({ endpoint: false });
});
after(() => use.end());

/** Asserts a body `{code, message, details}` whose code equals the status, without details. */
function assertIngestError({ status, json }: ApiReply, expected: number) {
  assert.equal(status, expected);
  assert.deepEqual(Object.keys(json), ["code", "message", "details"]);
  assert.equal(json.code, expected);
  assert.ok(typeof json.message === "string" && json.message !== "");
  assert.deepEqual(json.details, []);
}

/** Asserts that `details` holds objects with an `@type` and a reason. */
function assertErrorInfo(json: ApiReply["json"]) {
  const details = json.details as { "@type": unknown; reason: unknown }[];
  assert.ok(details.length > 0);
  for (const detail of details) {
    assert.equal(detail["@type"], "type.googleapis.com/google.rpc.ErrorInfo");
    assert.match(String(detail.reason), /^[A-Z_]+$/);
  }
}

for (const kind of ["subscriptions", "invoices", "transactions"] as const) {
  const as = (apiKey: string, records: unknown) =>
    service.call({
      method: "POST",
      path: `/ingest/v1/${kind}`,
      headers: { "content-type": "application/json", authorization: `Bearer ${apiKey}` },
      body: { [kind]: records },
    });

  test(`ingest ${kind}: 400 for invalid data, such as missing required fields`, async () => {
    assertIngestError(await shop.post(kind, [{}]), 400);
    assertIngestError(await shop.post(kind, "all"), 400);
    assertIngestError(await shop.post(kind, [null]), 400);
  });

  test(`ingest ${kind}: 401 for an API key missing or invalid in the Bearer token`, async () =>
    assertIngestError(await as("dln_live_nobody", [{}]), 401));

  test(`ingest ${kind}: 403 for a key that lacks the permission`, async () =>
    assertIngestError(await as(await shop.key(["read:recovery_actions"]), [{}]), 403));

  test(`ingest ${kind}: 429 when the rate limit is exceeded`, async () => {
    const slow = await service.shop({ endpoint: false, ratePerSecond: 1, rateBurst: 1 });
    await slow.post(kind, [{}]);
    assertIngestError(await slow.post(kind, [{}]), 429);
  });
}

test("list: a 400 follows an invalid or expired `pageToken`, and `details` holds objects that carry an `@type` string", async () => {
  const { status, json } = await shop.list({ pageToken: "nonsense" });
  assert.equal(status, 400);
  assert.equal(json.code, 400);
  const details = json.details as { "@type": unknown; fieldViolations: { field: string }[] }[];
  assert.ok(details.length > 0);
  for (const detail of details) assert.equal(typeof detail["@type"], "string");
  assert.equal(details[0]!.fieldViolations[0]!.field, "pageToken");
});

test("list: a 429 follows exceeding the rate limit", async () => {
  const slow = await service.shop({ endpoint: false, ratePerSecond: 1, rateBurst: 1 });
  await slow.list();
  const { status, json, headers } = await slow.list();
  assert.equal(status, 429);
  assert.equal(json.code, 429);
  assertErrorInfo(json);
  assert.ok(Number(headers["retry-after"]) >= 1);
});

test("list: other error statuses are not shown: 401 and 403 have the same body", async () => {
  const key = await shop.key(["ingest:invoices"]);
  for (const [apiKey, expected] of [
    ["dln_live_nobody", 401],
    [key, 403],
  ] as const) {
    const headers = { authorization: `Bearer ${apiKey}` };
    const { status, json } = await service.call({ path: "/v1/recovery_actions", headers });
    assert.equal(status, expected);
    assert.equal(json.code, expected);
    assertErrorInfo(json);
  }
});

test("an unknown path is a 404 and a wrong method a 405, as {code, message, details}", async () => {
  assertIngestError(await shop.call({ path: "/ingest/v2/invoices" }), 404);
  assertIngestError(await shop.call({ path: "/ingest/v1/invoices" }), 405);
});

test("an error names the field and never repeats what was sent", async () => {
  for (const kind of ["subscriptions", "invoices", "transactions"] as Kind[]) {
    const { text } = await shop.post(kind, [{ ...shop.invoice(), currency: "secret-word" }]);
    assert.doesNotMatch(text, /secret-word/);
  }
});
