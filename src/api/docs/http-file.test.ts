import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/database.ts";
import { testApi, testClock, testKey, testMerchant } from "../api.fixture.ts";
import { buildOpenApiText } from "../openapi/openapi-document.ts";
import { createValidatorAt } from "../openapi/validator.fixture.ts";
import { buildHttpFile } from "./http-file.ts";

let database: TestDatabase;
let api: Awaited<ReturnType<typeof testApi>>;
let key: string;
before(async () => {
  database = await createTestDatabase();
  api = await testApi(database.db, { ...testClock(), serviceMs: Date.UTC(2026, 5, 1) });
  key = (await testKey(database.db, api.ports, await testMerchant(database.db, api.ports))).apiKey;
});
after(async () => {
  await api.close();
  await database.drop();
});

/** Parses variables, then requests separated by lines of `###`. */
function requestsOf(file: string) {
  const [head, ...parts] = file.split(/^###.*\n/m) as [string, ...string[]];
  const variables: Record<string, string> = {
    "$processEnv DUNLIN_API_KEY": key,
    "$processEnv DUNLIN_WEBHOOK_TOKEN": "t",
  };
  for (const [, name, value] of head.matchAll(/^@(\w+) = (.*)$/gm)) variables[name!] = value!;
  const filled = (text: string): string => text.replace(/\{\{([^}]+)\}\}/g, (_, name) => filled(variables[name]!));
  return parts.map((part) => {
    const [top, body] = filled(part).trim().split("\n\n") as [string, string | undefined];
    const [first, ...fields] = top.split("\n");
    const [method, url] = first!.split(" ") as ["GET" | "POST" | "PUT", string];
    return { method, url: new URL(url), headers: Object.fromEntries(fields.map((field) => field.split(": "))), body };
  });
}

test("every request of the collection is valid, and every event matches its schema", async () => {
  const requests = requestsOf(readFileSync(new URL("../../../docs/reference/dunlin.http", import.meta.url), "utf8"));
  const inbound = requests.filter(({ url }) => url.port === "8443");
  assert.equal(inbound.length, 23);
  for (const { method, url, headers, body } of inbound) {
    const reply = await api.http.inject({ method, url: url.pathname, headers, ...(body && { payload: body }) });
    // The example invoice is not stored: the ingest of this API only records its batches.
    const expected = url.pathname.startsWith("/v1/invoices/") ? 404 : 200;
    assert.equal(reply.statusCode, expected, `${method} ${url}: ${reply.body}`);
  }
  const events = requests.filter(({ url }) => url.port === "3000");
  assert.equal(events.length, 5);
  for (const { headers, body } of events) {
    assert.equal(headers.Authorization, "Bearer t");
    const { type, requestId } = JSON.parse(body!) as { type?: string; requestId?: string };
    const schema = `/webhooks/${type ?? "recovery_action"}/post/requestBody/content/application~1json/schema`;
    assert.ok(createValidatorAt(schema)(JSON.parse(body!)), `${type ?? requestId}`);
  }
});

test("the collection calls the installation that serves it", () => {
  const file = buildHttpFile(buildOpenApiText("https://d.example"), "https://d.example");
  assert.ok(file.includes("@baseUrl = https://d.example\n"));
  assert.equal(file.includes("localhost:8443"), false);
});
