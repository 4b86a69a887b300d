import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import { testApi, testClock, testKey, testMerchant } from "../api/api.fixture.ts";
import { createAttentionStore } from "../attention/attention.fixture.ts";
import { DAY_MS } from "../domain/durations.ts";
import { PERMISSIONS } from "../domain/permission.ts";
import { replaceRecoveryRules } from "../tables/recovery-rules.ts";

let database: TestDatabase;
let api: Awaited<ReturnType<typeof testApi>>;
before(async () => {
  database = await createTestDatabase();
  api = await testApi(database.db, testClock());
});
after(async () => {
  await api.close();
  await database.drop();
});

async function shopWithCases() {
  const merchant = await testMerchant(database.db, api.ports);
  const now = api.ports.now();
  const ago = (days: number) => new Date(now.getTime() - days * DAY_MS);
  const store = createAttentionStore(database.db, merchant.id, now);
  const ended = { unpaidAt: ago(50), endedAt: ago(45) };
  await store.openCase({ ...ended, amount: 2 ** 53 - 1, endReason: "paid", recovered: true });
  await store.openCase({ ...ended, amount: 2 ** 53 - 1, endReason: "window_over" });
  await store.openCase({ ...ended, amount: 500, currency: "JPY", endReason: "paid" });
  await store.openCase({ unpaidAt: ago(10), endedAt: ago(9), amount: 7, endReason: "paid", recovered: true });
  const get = async (query: string, permissions: (typeof PERMISSIONS)[number][] = ["read:analytics"]) => {
    const { apiKey } = await testKey(database.db, api.ports, merchant, permissions);
    return api.http.inject({
      url: `/v1/analytics/recovery${query}`,
      headers: { authorization: `Bearer ${apiKey}` },
    });
  };
  return { get, now, ago, merchant };
}

test("GET /v1/analytics/recovery sums mature cases exactly by currency, and leaves young ones out", async () => {
  const { get } = await shopWithCases();
  const reply = await get("");
  assert.equal(reply.statusCode, 200);
  const { rows, maturityDays, by } = reply.json();
  assert.deepEqual([by, maturityDays], ["reason", 35]);
  assert.deepEqual(
    rows.map(({ rateLow, rateHigh, ...row }: Record<string, unknown>) => row),
    [
      {
        ...{ value: "", label: "No decline was pushed", currency: "EUR", count: 2, recovered: 1, rate: 0.5 },
        ...{ failedAmount: "18014398509481982", recoveredAmount: "9007199254740991" },
      },
      {
        ...{ value: "", label: "No decline was pushed", currency: "JPY", count: 1, recovered: 0, rate: 0 },
        ...{ failedAmount: "500", recoveredAmount: "0" },
      },
    ],
  );
  assert.ok(rows[0].rateLow < 0.5 && rows[0].rateHigh > 0.5);
  const yen = (await get("?by=cohort&currency=JPY&timeZone=Asia/Tokyo")).json();
  assert.deepEqual(
    yen.rows.map(({ value, count }: Record<string, unknown>) => [value, count]),
    [["2025-11", 1]],
  );
});

test("an invoice counts only when the longest window that a rule gives is over", async () => {
  const { get, merchant } = await shopWithCases();
  const rule = {
    id: api.ports.newId(),
    name: "annual",
    conditions: { planIds: ["annual"] },
    budget: null,
    leadMs: null,
  };
  const rules = [
    { ...rule, leaveOut: false, windowDays: 44, quiet: null },
    { ...rule, id: api.ports.newId(), leaveOut: true, windowDays: 90, quiet: null },
  ];
  await replaceRecoveryRules(database.db, merchant.id, rules, api.ports.now());
  const { rows, maturityDays } = (await get("")).json();
  assert.equal(maturityDays, 51);
  assert.deepEqual(rows, [], "the invoices failed 50 days ago");
});

test("wrong parameters are refused by name, and a key needs the permission", async () => {
  const { get } = await shopWithCases();
  for (const [query, message] of [
    ["?by=weather", /^by must be one of reason, code/],
    ["?from=yesterday", /^from must be a time/],
    ["?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z", /^from must be before to/],
    ["?from=2001-01-02T00:00:00Z", /^from must be at most 1100 days before to/],
    ["?timeZone=Mars", /^timeZone must be an IANA time zone/],
    ["?currency=eur", /^currency must be three capital letters/],
    ...(["reason", "code", "method", "country", "issuer", "plan", "amount", "currency", "timeZone"] as const).map(
      (name) => [`?${name}=a%00`, new RegExp(`^${name} must not hold control characters$`)] as const,
    ),
    ["?plan=a%0Ab", /^plan must not hold control characters/],
    ["?colour=red", /^colour is not a parameter/],
    ["?by=reason&by=code", /^by occurs more than once/],
  ] as const) {
    const reply = await get(query);
    assert.equal(reply.statusCode, 400, query);
    assert.match(reply.json().message, message);
  }
  assert.equal(
    (
      await get(
        "",
        PERMISSIONS.filter((each) => each !== "read:analytics"),
      )
    ).statusCode,
    403,
  );
});
