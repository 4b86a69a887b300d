import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Fields } from "./contract-records.ts";
import type { Shop } from "./contract-shop.ts";
import { eventually, type Service, useService } from "./running-service.ts";

// "List recovery actions": its parameters. The merchant has 104 actions, of which 2 were executed.
const use = useService();
let service: Service;
let shop: Shop;
/** Invoices with unique values in every property that can be filtered. */
let special: Fields[];
before(async () => {
  service = await use.start();
  shop = await service.shop({ webhookCap: 50 });
  special = ["EUR", "USD"].map((currency) => shop.invoice({ currency }));
  const [german, french] = special as [Fields, Fields];
  const first = shop.transaction(french, { cardCountry: "FR", createdAt: new Date(+shop.now() - 1000).toISOString() });
  await shop.push("transactions", shop.transaction(german), first);
  await shop.push("invoices", ...special, ...Array.from({ length: 102 }, () => shop.invoice({ currency: "GBP" })));
  await eventually(() => shop.events("recovery_action").length === 104, "all instructions");
  for (const invoice of special) {
    const [{ id }] = (await shop.actions({ invoiceId: String(invoice.id) })) as [Fields];
    const cardCountry = invoice === german ? "DE" : "FR";
    const paid = { state: "TRANSACTION_STATE_PAID", recoveryActionId: id, cardCountry };
    await shop.push("transactions", shop.transaction(invoice, paid));
    const query = { invoiceId: String(invoice.id), orderBy: "executed_at" };
    await eventually(async () => (await shop.actions(query)).length === 1, "an execution");
  }
});
after(() => use.end());

const page = async (query: Record<string, string | number> = {}) => {
  const { status, json, text } = await shop.list(query);
  assert.equal(status, 200, text);
  return { actions: json.recoveryActions as Fields[], token: json.nextPageToken as string, total: json.totalSize };
};

test("GET {base_url}/v1/recovery_actions, without a body, gives HTTP 200", async () => {
  assert.equal((await shop.call({ path: "/v1/recovery_actions" })).status, 200);
  assert.equal((await shop.call({ method: "POST", path: "/v1/recovery_actions" })).status, 405);
});

test("`nextPageToken` is empty when no more pages exist", async () => {
  const first = await page();
  assert.notEqual(first.token, "");
  assert.equal((await page({ pageToken: first.token })).token, "");
  assert.equal((await page({ currency: "EUR" })).token, "", "also of the first page");
  assert.equal((await page({ currency: "JPY" })).token, "", "also of an empty one");
});

test("`totalSize` is the total number of items over all pages", async () => {
  const first = await page({ pageSize: 3 });
  assert.equal(first.total, 104);
  assert.equal((await page({ pageSize: 3, pageToken: first.token })).total, 104);
  assert.equal((await page({ currency: "GBP", pageSize: 3 })).total, 102);
  assert.equal((await page({ currency: "JPY" })).total, 0);
});

test("`pageSize`: 1 to 100", async () => {
  for (const pageSize of [1, 7, 99, 100]) assert.equal((await page({ pageSize })).actions.length, pageSize);
});

test("`pageSize`: a value below 1 or an absent value gives 100", async () => {
  for (const pageSize of [0, -1]) assert.equal((await page({ pageSize })).actions.length, 100);
  assert.equal((await page()).actions.length, 100);
});

test("`pageSize`: the behavior above 100 is not shown: it gives 100", async () => {
  for (const pageSize of [101, 1000, "99999999999999999999"])
    assert.equal((await page({ pageSize })).actions.length, 100);
});

test("`pageSize` is an integer: anything else is a 400", async () => {
  for (const pageSize of ["ten", "1.5", "0x10"]) assert.equal((await shop.list({ pageSize })).status, 400, pageSize);
});

test("`pageToken`: the `nextPageToken` of a previous response; an empty one counts as absent", async () => {
  const first = await page({ pageSize: 2 });
  const next = await page({ pageSize: 2, pageToken: first.token });
  const again = await page({ pageSize: 4 });
  assert.deepEqual([...first.actions, ...next.actions], again.actions);
  assert.deepEqual((await page({ pageSize: 2, pageToken: "" })).actions, first.actions);
});

const filters: [string, string, () => unknown][] = [
  ["subscription", "subscriptionId", () => special[0]!.subscriptionId],
  ["invoice", "invoiceId", () => special[0]!.id],
  ["customer", "customerId", () => special[0]!.customerId],
  ["card country", "cardCountry", () => "DE"],
  ["currency", "currency", () => "EUR"],
];
for (const [what, name, value] of filters)
  test(`filter by ${what}: matches only equal, whole values`, async () => {
    const { actions, total } = await page({ [name]: String(value()) });
    assert.deepEqual(
      actions.map(({ invoiceId }) => invoiceId),
      [special[0]!.id],
    );
    assert.equal(total, 1);
    const none = { cardCountry: "ZZ", currency: "ZZZ" }[name] ?? String(value()).slice(0, -1);
    assert.equal((await page({ [name]: none })).total, 0);
  });

test("filters can be combined: all must hold", async () => {
  const customerId = String(special[0]!.customerId);
  assert.equal((await page({ customerId, currency: "EUR" })).total, 1);
  assert.equal((await page({ customerId, currency: "USD" })).total, 0);
});

test("filter by card country: pattern ^[A-Z]{2}$, else a 400", async () => {
  for (const cardCountry of ["de", "DEU", "D1"]) assert.equal((await shop.list({ cardCountry })).status, 400);
});

test("filter by currency: an ISO 4217 code, else a 400", async () => {
  for (const currency of ["eur", "EURO", "978"]) assert.equal((await shop.list({ currency })).status, 400);
});

test("`executedAfter`: an inclusive lower bound on the execution time", async () => {
  const executed = (await page({ orderBy: "executed_at", orderDirection: "asc" })).actions;
  const last = String(executed[1]!.executedAt);
  const found = await page({ executedAfter: last });
  assert.deepEqual(
    found.actions.map(({ id }) => id),
    [executed[1]!.id],
  );
  assert.equal((await page({ executedAfter: new Date(Date.parse(last) + 1).toISOString() })).total, 0);
  assert.equal((await page({ executedAfter: "1970-01-01T00:00:00Z" })).total, 2, "what was not executed is left out");
});

test("`executedBefore`: an inclusive upper bound on the execution time", async () => {
  const executed = (await page({ orderBy: "executed_at", orderDirection: "asc" })).actions;
  const first = String(executed[0]!.executedAt);
  const found = await page({ executedBefore: first });
  assert.deepEqual(
    found.actions.map(({ id }) => id),
    [executed[0]!.id],
  );
  assert.equal((await page({ executedBefore: new Date(Date.parse(first) - 1).toISOString() })).total, 0);
});

test("`executedAfter` and `executedBefore` are ISO 8601 in UTC; any other value is a 400", async () => {
  for (const name of ["executedAfter", "executedBefore"]) {
    assert.equal((await shop.list({ [name]: "2026-01-31T12:00:00Z" })).status, 200);
    for (const wrong of ["yesterday", "2026-01-31", "2026-02-30T12:00:00Z", "1769860800"])
      assert.equal((await shop.list({ [name]: wrong })).status, 400, wrong);
  }
});

const FIELDS = { executed_at: "executedAt", created_at: "createdAt", updated_at: "updatedAt" };
for (const [orderBy, field] of Object.entries(FIELDS))
  test(`\`orderBy\` ${orderBy}, with \`orderDirection\` asc and desc`, async () => {
    const up = (await page({ orderBy, orderDirection: "asc" })).actions.map((action) => String(action[field]));
    const down = (await page({ orderBy, orderDirection: "desc" })).actions.map((action) => String(action[field]));
    assert.deepEqual(up, up.toSorted());
    assert.deepEqual(down, down.toSorted().reverse());
    assert.ok(up[0]! < down[0]!);
  });

test("`orderBy` is one of three values and `orderDirection` one of two: anything else is a 400", async () => {
  for (const orderBy of ["createdAt", "amount"]) assert.equal((await shop.list({ orderBy })).status, 400, orderBy);
  for (const orderDirection of ["up", "ASC"]) assert.equal((await shop.list({ orderDirection })).status, 400);
});

test("an empty query parameter means the same as an absent one", async () => {
  const { actions, total } = await page();
  for (const name of ["subscriptionId", "cardCountry", "executedAfter", "orderBy", "orderDirection", "pageSize"]) {
    const found = await page({ [name]: "" });
    assert.deepEqual([found.actions, found.total], [actions, total], name);
  }
});

test("`orderDirection`: default desc", async () => {
  const query = { orderBy: "updated_at", pageSize: 5 };
  assert.deepEqual((await page(query)).actions, (await page({ ...query, orderDirection: "desc" })).actions);
});

test("`orderBy`: the default is not shown: it is created_at, and ties are broken by the id", async () => {
  const ids = (actions: Fields[]) => actions.map(({ createdAt, id }) => `${createdAt} ${id}`);
  const { actions } = await page();
  assert.deepEqual(actions, (await page({ orderBy: "created_at" })).actions);
  assert.deepEqual(ids(actions), ids(actions).toSorted().reverse());
});
