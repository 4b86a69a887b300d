import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import fc from "fast-check";
import { createTestDatabase, type TestDatabase } from "../../../test/database.ts";
import { testApi, testClock, testKey, testMerchant } from "../api.fixture.ts";
import { bodyValues, parameterValues } from "./bodies.fixture.ts";
import { findBrokenRule, isRealTimestamp } from "./broken-rule.fixture.ts";
import type { DocumentPart } from "./field-schema.ts";
import { INGEST_OPERATIONS } from "./ingest-operations.ts";
import { RULES_BEYOND_SCHEMA } from "./rules-beyond-schema.ts";
import { createValidatorAt, partAt } from "./validator.fixture.ts";

// Later than the dates in the examples.
const clock = { ...testClock(), serviceMs: Date.UTC(2026, 5, 1) };
let database: TestDatabase;
let api: Awaited<ReturnType<typeof testApi>>;
let headers: Record<string, string>;

before(async () => {
  database = await createTestDatabase();
  api = await testApi(database.db, clock);
  const merchant = await testMerchant(database.db, api.ports, { ratePerSecond: 100_000, rateBurst: 100_000 });
  const { apiKey } = await testKey(database.db, api.ports, merchant);
  headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
});
after(async () => {
  await api.close();
  await database.drop();
});

const send = (request: object) => {
  clock.monotonicMs += 10;
  return api.http.inject({ headers, ...request });
};
const push = (name: string, payload: string | Buffer) => send({ method: "POST", url: `/ingest/v1/${name}`, payload });
const list = (query: string) => send({ url: `/v1/recovery_actions?${query}` });
/** "taken", "refused" or a rule. */
const seenRules = new Set<string>();
const assertListedRule = (id: string) => assert.ok(RULES_BEYOND_SCHEMA.some((rule) => rule.id === id));

// For a longer run: AGREEMENT_RUNS=30000 npm test -- src/api/openapi/schema-agreement.test.ts
const RUNS = Number(process.env.AGREEMENT_RUNS ?? 150);

for (const { kind, record } of INGEST_OPERATIONS)
  test(`a validator built from the document agrees with the service on ${kind.name}, except for the listed rules`, async () => {
    const fits = createValidatorAt(`/components/schemas/${record}Batch`);
    const seen: Record<string, number> = { taken: 0, refused: 0 };
    await fc.assert(
      fc.asyncProperty(bodyValues(kind.name, record), async (body) => {
        const text = JSON.stringify(body);
        const reply = await push(kind.name, text);
        // JSON loses some generated values.
        const received = JSON.parse(text);
        const broken = fits(received)
          ? findBrokenRule(received[kind.name], received, kind.fields, new Date(clock.serviceMs))
          : "schema";
        if (reply.statusCode === 200) {
          assert.ok(broken === undefined || broken === "no-card-number", `accepted, but breaks ${broken}`);
          seen.taken!++;
          return;
        }
        if (text.length > 2 ** 20 && reply.statusCode === 413) return assertListedRule("body-size");
        assert.equal(reply.statusCode, 400, reply.body);
        assert.ok(broken, `refused without a rule: ${reply.body}`);
        if (broken !== "schema") assertListedRule(broken);
        const outcome = broken === "schema" ? "refused" : broken;
        seen[outcome] = (seen[outcome] ?? 0) + 1;
      }),
      { numRuns: RUNS },
    );
    // Both answers must be common, or the test would prove little.
    assert.ok(seen.taken! > RUNS / 10 && seen.refused! > RUNS / 10, JSON.stringify(seen));
    for (const outcome of Object.keys(seen)) seenRules.add(outcome);
  });

test("some generated bodies break only a listed rule", () => {
  // Card numbers are too rare to check each kind.
  for (const rule of ["real-moment", "no-card-number"]) assert.ok(seenRules.has(rule), rule);
});

test("a validator built from the document agrees with the service on queries, except for the listed rules", async () => {
  const operation = "/paths/~1v1~1recovery_actions/get/parameters";
  const parameters = partAt<{ name: string; schema: DocumentPart }[]>(operation)
    .filter(({ schema }) => schema !== undefined) // references are headers
    .map(({ name, schema }, index) => ({
      name,
      schema,
      fits: createValidatorAt(`${operation}/${index}/schema`),
    }));
  const seen = { taken: 0, refused: 0 };
  const queries = fc
    .subarray(parameters, { minLength: 1, maxLength: 3 })
    .chain((some) =>
      fc.tuple(
        ...some.map((each) => parameterValues(each.schema).map((text) => ({ ...each, text: text.toWellFormed() }))),
      ),
    );
  await fc.assert(
    fc.asyncProperty(queries, async (query) => {
      const { statusCode, body } = await list(
        new URLSearchParams(query.map(({ name, text }) => [name, text])).toString(),
      );
      const wrong = query.filter(({ name, text, fits }) => {
        if (text === "") return false;
        if (name === "pageSize") return !/^[+-]?\d+$/.test(text);
        if (name === "pageToken") return true; // page-token: none is valid
        return !fits(text) || (/^executed/.test(name) && !isRealTimestamp(text));
      });
      assert.equal(statusCode, wrong.length > 0 ? 400 : 200, body);
      if (wrong.length > 0) seen.refused++;
      else seen.taken++;
    }),
    { numRuns: RUNS },
  );
  assert.ok(seen.taken > RUNS / 10 && seen.refused > RUNS / 10, JSON.stringify(seen));
});

test("a request that breaks only a listed rule matches the schemas and gets the listed status", async () => {
  const example = partAt<{ value: { invoices: DocumentPart[] } }>(
    "/paths/~1ingest~1v1~1invoices/post/requestBody/content/application~1json/examples/unpaid",
  ).value.invoices[0]!;
  const fits = createValidatorAt("/components/schemas/InvoiceBatch");
  const withFields = (fields: DocumentPart) => JSON.stringify({ invoices: [{ ...example, ...fields }] });
  const deep = (levels: number): unknown => (levels === 0 ? 1 : { a: deep(levels - 1) });
  const transaction = { ...example, id: "tx_1", state: "TRANSACTION_STATE_PAID", invoiceId: "inv_1" };
  const bodyOf: Record<string, string | Buffer> = {
    "real-moment": withFields({ createdAt: "2026-02-30T09:00:00Z" }),
    "no-future": withFields({ createdAt: "2026-06-01T00:06:00Z", updatedAt: "2026-06-01T00:06:00Z" }),
    "due-within-amount": withFields({ amount: 4900, amountDue: 4901 }),
    "digits-only": withFields({ amount: "@" }).replace('"@"', "4900.0"),
    "known-time-zone": JSON.stringify({ transactions: [{ ...transaction, customerTimezone: "Europe/Nowhere" }] }),
    "well-formed-text": withFields({ businessEntity: "\ud83d" }),
    "no-card-number": withFields({ note: "4111 1111 1111 1111" }),
    "no-double-key": withFields({}).replace('"amount"', '"amount": 1, "amount"'),
    depth: withFields({ extra: deep(30) }),
    "not-a-heap": withFields({ extra: Array(30_001).fill(0) }),
    "utf-8": Buffer.from(withFields({ businessEntity: "M\u00fcller" }), "latin1"),
    "body-size": withFields({ extra: "x".repeat(2 ** 21) }),
  };
  const queryOf: Record<string, string> = {
    "known-parameters": "invoice_id=inv_1",
    "page-token": "pageToken=abc",
    "any-page-size": "pageSize=0",
  };
  for (const { id, where, status } of RULES_BEYOND_SCHEMA) {
    if (where === "query") {
      assert.equal((await list(queryOf[id]!)).statusCode, status, id);
      continue;
    }
    const body = bodyOf[id]!;
    const name = id === "known-time-zone" ? "transactions" : "invoices";
    const reply = await push(name, body);
    assert.equal(reply.statusCode, status, `${id}: ${reply.body}`);
    const check = name === "invoices" ? fits : createValidatorAt("/components/schemas/TransactionBatch");
    assert.ok(check(JSON.parse(body.toString())), id);
  }
  const all = [...Object.keys(bodyOf), ...Object.keys(queryOf)];
  assert.deepEqual(
    all,
    RULES_BEYOND_SCHEMA.map(({ id }) => id),
  );
  // With a space, the body differs from the output of JSON.stringify and is parsed on another path.
  for (const space of ["", " "]) {
    assert.equal((await push("invoices", withFields({ extra: deep(29) }) + space)).statusCode, 200);
    assert.equal((await push("invoices", withFields({ extra: deep(30) }) + space)).statusCode, 400);
  }
  assert.equal((await push("invoices", `\ufeff${withFields({})}`)).statusCode, 400);
});
