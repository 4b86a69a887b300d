import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../../test/database.ts";
import { toActionJson } from "../../actions-api/action-json.ts";
import type { BatchResult } from "../../domain/ingest.ts";
import { PERMISSIONS } from "../../domain/permission.ts";
import { invoiceRouteOf } from "../../invoices-api/paths.ts";
import { rulesRouteOf } from "../../rules-api/paths.ts";
import { upsertInvoices } from "../../tables/invoices.ts";
import { testApi, testClock, testKey, testMerchant } from "../api.fixture.ts";
import { RESPONSES } from "./error-responses.ts";
import type { DocumentPart } from "./field-schema.ts";
import { INGEST_OPERATIONS, refusedBodies } from "./ingest-operations.ts";
import { INVOICE_REQUEST_OPERATIONS } from "./invoice-operations.ts";
import { REFUSED_QUERIES } from "./list-operation.ts";
import { type Reply, sendMalformedRequest } from "./malformed-request.fixture.ts";
import { createValidatorAt, DOCUMENT, partAt } from "./validator.fixture.ts";

const LIST = "/paths/~1v1~1recovery_actions/get";
const EXAMPLES = "content/application~1json/examples";
const clock = { ...testClock(), serviceMs: Date.UTC(2026, 5, 1) };
let database: TestDatabase;
let api: Awaited<ReturnType<typeof testApi>>;
let key: string;
let merchantId: string;

before(async () => {
  database = await createTestDatabase();
  api = await testApi(database.db, clock);
  const merchant = await testMerchant(database.db, api.ports);
  merchantId = merchant.id;
  key = (await testKey(database.db, api.ports, merchant)).apiKey;
});
after(async () => {
  await api.close();
  await database.drop();
});

/** Asserts that a reply equals an example and that its headers match the document. */
function assertExample(reply: Reply, response: string, name: string) {
  const { value } = partAt<{ value: { code: number } }>(`${response}/${EXAMPLES}/${name}`);
  assert.deepEqual(JSON.parse(reply.body), value, `${response} ${name}`);
  assert.equal(reply.statusCode, value.code);
  assertHeaders(reply, response);
  const schema = `${response}/content/application~1json/schema`;
  assert.ok(createValidatorAt(schema)(value), schema);
}

function assertHeaders(reply: Reply, response: string) {
  const documented = Object.keys(partAt(`${response}/headers`));
  const isFault = reply.statusCode >= 500;
  const isThrottled = /from this address/.test(reply.body);
  for (const name of documented) {
    const isRequired =
      partAt(`/components/headers/${name}`).required || (name.startsWith("RateLimit") && !isFault && !isThrottled);
    if (isRequired) assert.ok(reply.headers[name.toLowerCase()] !== undefined, `${response} lacks ${name}`);
  }
  for (const name of [
    "X-Request-Id",
    "X-Caller-Request-Id",
    "RateLimit",
    "RateLimit-Policy",
    "Retry-After",
    "WWW-Authenticate",
    "Allow",
  ]) {
    const value = reply.headers[name.toLowerCase()];
    if (value === undefined) continue;
    assert.ok(documented.includes(name), `${response} sends ${name}`);
    const validate = createValidatorAt(`/components/headers/${name}/schema`);
    assert.ok(validate(name === "Retry-After" ? Number(value) : value), `${name}: ${value}`);
  }
}

const send = (
  path: string,
  payload: string | undefined,
  { apiKey = key, on = api, headers = {} as Record<string, string> } = {},
) =>
  on.http.inject({
    method: payload === undefined ? "GET" : "POST",
    url: path,
    headers: {
      "x-request-id": "mine:1",
      "content-type": "application/json",
      authorization: `Bearer ${apiKey}`,
      ...headers,
    },
    ...(payload !== undefined && { payload }),
  });
const INVOICES = "/ingest/v1/invoices";
const PUSH = "/paths/~1ingest~1v1~1invoices/post/responses";
const anInvoice = () =>
  JSON.stringify(
    partAt<{ value: DocumentPart }>(`/paths/~1ingest~1v1~1invoices/post/requestBody/${EXAMPLES}/unpaid`).value,
  );

test("every example of a batch is accepted and answered as documented", async () => {
  for (const { kind } of INGEST_OPERATIONS) {
    const operation = `/paths/~1ingest~1v1~1${kind.name}/post`;
    for (const { value } of Object.values(
      partAt<Record<string, { value: DocumentPart }>>(`${operation}/requestBody/${EXAMPLES}`),
    )) {
      const reply = await send(`/ingest/v1/${kind.name}`, JSON.stringify(value));
      assert.equal(reply.statusCode, 200, reply.body);
      assertHeaders(reply, `${operation}/responses/200`);
      assert.ok(createValidatorAt("/components/schemas/IngestReply")(reply.json()));
      assert.ok(createValidatorAt(`${operation}/requestBody/content/application~1json/schema`)(value));
    }
  }
});

test("every example of a 400 equals the service's answer", async () => {
  for (const ingest of INGEST_OPERATIONS) {
    const response = `/paths/~1ingest~1v1~1${ingest.kind.name}/post/responses/400`;
    const bodies = refusedBodies(ingest);
    assert.deepEqual(Object.keys(partAt(`${response}/${EXAMPLES}`)), Object.keys(bodies));
    for (const [name, body] of Object.entries(bodies))
      assertExample(await send(`/ingest/v1/${ingest.kind.name}`, body), response, name);
  }
  assert.deepEqual(Object.keys(partAt(`${LIST}/responses/400/${EXAMPLES}`)), Object.keys(REFUSED_QUERIES));
  for (const [name, search] of Object.entries(REFUSED_QUERIES))
    assertExample(await send(`/v1/recovery_actions?${search}`, undefined), `${LIST}/responses/400`, name);
});

test("every example of a request about an invoice is answered as documented", async () => {
  for (const [name, { refused, examples }] of Object.entries(INVOICE_REQUEST_OPERATIONS)) {
    const operation = `/paths/~1v1~1invoices~1{invoiceId}:${name}/post`;
    const call = (invoiceId: string, body: string) => send(`/v1/invoices/${invoiceId}:${name}`, body);
    for (const [example, body] of Object.entries(refused))
      assertExample(await call("inv_1", body), `${operation}/responses/400`, example);
    for (const body of Object.values(examples)) {
      assert.ok(createValidatorAt(`${operation}/requestBody/content/application~1json/schema`)(body));
      assertExample(await call("inv_unknown", JSON.stringify(body)), `${operation}/responses/404`, "unknownInvoice");
    }
    await storePaidInvoice("inv_paid");
    const [body] = Object.values(examples);
    assertExample(await call("inv_paid", JSON.stringify(body)), `${operation}/responses/409`, "conflict");
    const reply = partAt<{ value: DocumentPart }>(`${operation}/responses/200/${EXAMPLES}/done`).value;
    assert.ok(createValidatorAt(`${operation}/responses/200/content/application~1json/schema`)(reply));
  }
});

test("an invoice is explained as documented", async () => {
  await storePaidInvoice("inv_paid");
  const operation = "/paths/~1v1~1invoices~1{invoiceId}~1explanation/get/responses";
  const reply = await send("/v1/invoices/inv_paid/explanation", undefined);
  assert.equal(reply.statusCode, 200, reply.body);
  assertHeaders(reply, `${operation}/200`);
  const fits = createValidatorAt(`${operation}/200/content/application~1json/schema`);
  assert.ok(fits(reply.json()));
  assert.match(reply.json().headline, / is paid\. /);
  assert.ok(fits(partAt<{ value: DocumentPart }>(`${operation}/200/${EXAMPLES}/planned`).value));
  assertExample(await send("/v1/invoices/inv_none/explanation", undefined), `${operation}/404`, "unknownInvoice");
});

/** Of the merchant with the key, and never in recovery. */
const storePaidInvoice = (id: string) =>
  upsertInvoices(
    database.db,
    merchantId,
    [
      {
        id,
        state: "PAID",
        customerId: "c",
        amount: 1,
        currency: "EUR",
        createdAt: api.ports.now(),
        updatedAt: api.ports.now(),
      },
    ],
    api.ports.now(),
    null,
  );

test("every example of another error equals the service's answer", async () => {
  const seen = new Set<string>();
  const check = (reply: Reply, name: string, ...responses: string[]) => {
    for (const response of responses) assertExample(reply, response, name);
    seen.add(name);
  };
  const checkList = (reply: Reply, name: string, status = String(reply.statusCode)) =>
    check(reply, name, `${LIST}/responses/${status}`);
  const list = (options: Parameters<typeof send>[2] = {}) => send("/v1/recovery_actions", undefined, options);
  check(await api.http.inject({ method: "POST", url: INVOICES }), "missing", `${PUSH}/401`);
  checkList(await api.http.inject("/v1/recovery_actions"), "missing");
  check(await send(INVOICES, "{}", { headers: { authorization: "Basic dTpw" } }), "malformed", `${PUSH}/401`);
  check(await send(INVOICES, "{}", { apiKey: "x" }), "invalid", `${PUSH}/401`);
  checkList(await list({ apiKey: "x" }), "invalid");

  const other = await testMerchant(database.db, api.ports, { ratePerSecond: 100, rateBurst: 1 });
  for (const permission of PERMISSIONS) {
    const [verb, what] = permission.split(":") as [string, string];
    const { apiKey } = await testKey(
      database.db,
      api.ports,
      other,
      PERMISSIONS.filter((each) => each !== permission),
    );
    const name = permission.replace(":", "_");
    if (permission === "manage:recovery") checkList(await send("/v1/invoices/inv_1:stop", "{}", { apiKey }), name);
    else if (permission === "read:explanations")
      checkList(await send("/v1/invoices/inv_1/explanation", undefined, { apiKey }), name);
    else if (permission === "read:analytics")
      checkList(await send("/v1/analytics/recovery", undefined, { apiKey }), name);
    else if (permission === "read:attention") checkList(await send("/v1/attention", undefined, { apiKey }), name);
    else if (what === "recovery_rules") {
      const request = verb === "read" ? ["GET", undefined] : ["PUT", "{}"];
      const [method, payload] = request as ["GET" | "PUT", string | undefined];
      const headers = { authorization: `Bearer ${apiKey}`, ...(payload && { "content-type": "application/json" }) };
      const reply = await api.http.inject({ method, url: "/v1/recovery_rules", headers, ...(payload && { payload }) });
      check(reply, name, `${PUSH}/403`);
    } else if (verb === "read") checkList(await list({ apiKey }), name);
    else check(await send(`/ingest/v1/${what}`, "{}", { apiKey }), name, `${PUSH}/403`);
  }
  const { apiKey } = await testKey(database.db, api.ports, other);
  await send(INVOICES, anInvoice(), { apiKey });
  check(await send(INVOICES, anInvoice(), { apiKey }), "tooMany", `${PUSH}/429`);
  checkList(await list({ apiKey }), "tooMany");

  for (const [name, reply] of Object.entries(await repliesWhenOverloaded())) check(reply, name, `${PUSH}/429`);

  check(await send(INVOICES, " ".repeat(2 ** 21 + 1)), "tooLarge", `${PUSH}/413`);
  check(await send(INVOICES, "{}", { headers: { "content-type": "text/csv" } }), "contentType", `${PUSH}/415`);
  check(await send(INVOICES, "{}", { headers: { "content-encoding": "gzip" } }), "contentEncoding", `${PUSH}/415`);
  check(await send("/v2", undefined), "notFound", `${PUSH}/4XX`, `${LIST}/responses/4XX`);
  check(await send(INVOICES, undefined), "method", `${PUSH}/4XX`);
  check(await send(INVOICES, "{}", { headers: { expect: "200-ok" } }), "expect", `${PUSH}/4XX`);
  checkList(await send("/v1/recovery_actions", "{}"), "method", "4XX");
  checkList(await list({ headers: { expect: "200-ok" } }), "expect", "4XX");
  for (const [code, name] of [
    ["ERR_HTTP_REQUEST_TIMEOUT", "slow"],
    ["HPE_HEADER_OVERFLOW", "headers"],
  ] as const)
    check(await sendMalformedRequest(api.http, code), name, `${PUSH}/4XX`, `${LIST}/responses/4XX`);

  const unavailableApi = await failing(Object.assign(new Error(), { code: "57P01" }));
  const unavailable = await send(INVOICES, anInvoice(), { on: unavailableApi });
  check(unavailable, "unavailable", `${PUSH}/503`);
  checkList(await list({ on: unavailableApi }), "unavailable");
  check(await send("/readyz", undefined, { on: unavailableApi }), "notReady", "/paths/~1readyz/get/responses/503");
  await unavailableApi.close();
  const broken = await failing(new TypeError("a bug"));
  check(await send(INVOICES, anInvoice(), { on: broken }), "internal", `${PUSH}/500`);
  checkList(await list({ on: broken }), "internal");
  await broken.close();

  const documented = Object.keys(RESPONSES).flatMap((name) =>
    Object.keys(partAt(`/components/responses/${name}/${EXAMPLES}`)),
  );
  assert.deepEqual([...seen].sort(), [...new Set(documented)].sort());
});

/** Returns the replies with ten requests in flight, and after thirty invalid keys. */
async function repliesWhenOverloaded(): Promise<Record<string, Reply>> {
  const { promise: held, resolve: release } = Promise.withResolvers<BatchResult>();
  const on = await testApi(database.db, clock, {
    ingest: {
      subscriptions: async () => ({ stored: 0, older: 0 }),
      invoices: () => held,
      transactions: async () => ({ stored: 0, older: 0 }),
    },
  });
  const slow = await testMerchant(database.db, on.ports, { ratePerSecond: 1, rateBurst: 20 });
  const { apiKey } = await testKey(database.db, on.ports, slow);
  const { promise: refused, resolve: refuse } = Promise.withResolvers<Reply>();
  const replies = Array.from({ length: 11 }, async () => {
    const reply = await send(INVOICES, anInvoice(), { apiKey, on });
    if (reply.statusCode === 429) refuse(reply);
  });
  const atOnce = await refused;
  release({ stored: 1, older: 0 });
  await Promise.all(replies);
  for (let count = 0; count < 30; count++) await send(INVOICES, "{}", { apiKey: "x", on });
  const wrongKeys = await send(INVOICES, "{}", { apiKey: "x", on });
  await on.close();
  return { atOnce, wrongKeys };
}

/** Creates an API that is not ready, and whose ingest and list throw this error. */
const failing = (error: Error) =>
  testApi(database.db, clock, {
    ingest: {
      subscriptions: async () => ({ stored: 0, older: 0 }),
      invoices: async () => Promise.reject(error),
      transactions: async () => ({ stored: 0, older: 0 }),
    },
    tenantDb: {
      of: () => {
        throw error;
      },
      close: async () => {},
    },
    ready: async () => ({ ok: false, problems: ["the database does not answer"] }),
  });

test("operations without a key answer as documented", async () => {
  for (const path of ["/healthz", "/readyz", "/network.json"]) {
    const reply = await api.http.inject(path);
    const response = `/paths/${path.replace("/", "~1")}/get/responses/200`;
    assert.deepEqual(reply.json(), partAt<{ value: DocumentPart }>(`${response}/${EXAMPLES}/reply`).value);
    assert.ok(createValidatorAt(`${response}/content/application~1json/schema`)(reply.json()));
    assertHeaders(reply, response);
  }
});

test("every operation of the document exists", () => {
  const documented = Object.entries(DOCUMENT.paths as Record<string, DocumentPart>).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
  );
  assert.equal(documented.length, 16);
  for (const each of documented) {
    const [method, url] = each.split(" ") as ["GET" | "POST" | "PUT", string];
    const route = invoiceRouteOf(url) ?? rulesRouteOf(url) ?? url;
    assert.ok(api.http.hasRoute({ method, url: route }), each);
  }
});

test("a recovery action has the documented fields, and the examples of the list match their schema", () => {
  const at0 = new Date(0).toISOString();
  const all = toActionJson({
    ...{ id: "", invoiceId: "", subscriptionId: "", customerId: "", transactionId: "", paymentMethodType: "card" },
    ...{
      cardCountry: "DE",
      currency: "EUR",
      amountDue: 4900,
      type: "RETRY",
      status: "SENT",
      integrationType: "CUSTOM",
    },
    ...{ actionSuggestion: "RETRY", idealRetryTime: at0, reasons: [], executedAt: at0, attemptedAt: at0 },
    ...{ createdAt: at0, updatedAt: at0, cursorAt: "" },
  });
  assert.deepEqual(Object.keys(all), Object.keys(partAt("/components/schemas/RecoveryAction/properties")));
  const examples = partAt<Record<string, { value: DocumentPart }>>(`${LIST}/responses/200/${EXAMPLES}`);
  for (const { value } of Object.values(examples))
    assert.ok(createValidatorAt("/components/schemas/RecoveryActionPage")(value));
});
