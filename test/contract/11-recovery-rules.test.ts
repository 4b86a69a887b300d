import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createClient, DunlinError } from "#sdk";
import { PERMISSIONS } from "../../src/domain/permission.ts";
import type { Shop } from "./contract-shop.ts";
import { eventually, type Service, useService } from "./running-service.ts";

// What Dunlin adds to the interface: recovery rules for segments of the invoices.
const use = useService();
let service: Service;
before(async () => {
  service = await use.start();
});
after(() => use.end());

const clientOf = ({ apiKey }: Pick<Shop, "apiKey">) =>
  createClient({ baseUrl: service.baseUrl, apiKey, ca: service.ca, retryForMs: 0 });
const isRefused = (code: number, message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof DunlinError);
  assert.equal(error.code, code);
  assert.match(error.message, message);
  return true;
};

async function failedInvoice(shop: Shop, fields: Record<string, unknown> = {}) {
  const invoice = shop.invoice(fields);
  await shop.push("invoices", invoice);
  await shop.push("transactions", shop.transaction(invoice, { state: "TRANSACTION_STATE_FAILED" }));
  return String(invoice.id);
}
const RULES = [
  { name: "euro", currencies: ["EUR"], amountFrom: 1_000_000, leaveOut: true },
  { name: "all", windowDays: 20, budget: 3, quietWeekdays: ["SUNDAY" as const], quietDates: ["12-24..01-01"] },
];

test("rules are replaced as a whole, keep their ids, and come back as they were sent", async (t) => {
  const shop = await service.shop({ endpoint: false });
  const { recoveryRules, close } = clientOf(shop);
  t.after(close);
  assert.deepEqual(await recoveryRules.list(), { rules: [] });
  const { rules } = await recoveryRules.replace(RULES);
  assert.deepEqual(
    rules.map(({ id, leaveOut, ...rule }) => rule),
    RULES.map(({ leaveOut, ...rule }) => rule),
  );
  assert.deepEqual((await recoveryRules.list()).rules, rules);
  const reversed = await recoveryRules.replace(rules.toReversed());
  assert.deepEqual(reversed.rules, rules.toReversed());
});

test("a test of rules says what would change, and an open case follows the rules once they are stored", async (t) => {
  const shop = await service.shop({ endpoint: false });
  const { recoveryRules, invoices, close } = clientOf(shop);
  t.after(close);
  const large = await failedInvoice(shop, { amount: 2_000_000, currency: "EUR" });
  const small = await failedInvoice(shop, { amount: 100, currency: "EUR" });
  await eventually(async () => (await shop.actions({ invoiceId: small }))[0], "a plan");
  const result = await recoveryRules.test(RULES);
  assert.deepEqual(result, {
    ...{ openCases: 2, planChanges: 2 },
    rules: [
      { name: "euro", openCases: 1, amounts: [{ currency: "EUR", amount: 2_000_000 }] },
      { name: "all", openCases: 1, amounts: [{ currency: "EUR", amount: 100 }] },
    ],
    others: { openCases: 0, amounts: [] },
    notes: [],
  });
  assert.deepEqual(await recoveryRules.list(), { rules: [] });
  await recoveryRules.replace(RULES);
  const ended = async () => (await invoices.explain(large)).recovery === "RECOVERY_ENDED";
  await eventually(ended, "the end of the case");
  assert.match(JSON.stringify(await invoices.explain(large)), /Your rule 1, “euro”, leaves this invoice to /);
  await eventually(
    async () =>
      /Your rule 2, “all”, gives .* 20 days and a budget of 3/.test(JSON.stringify(await invoices.explain(small))),
    "the rule in the explanation",
  );
});

test("an invalid list is refused with its rule and field, and nothing changes", async (t) => {
  const shop = await service.shop({ endpoint: false });
  const { recoveryRules, close } = clientOf(shop);
  t.after(close);
  const { rules } = await recoveryRules.replace([{ name: "kept" }]);
  const wrong = [{ name: "a" }, { name: "b", windowDays: 400 }];
  const message = /^rules\[1\]\.windowDays must be an integer from 1 to 365$/;
  await assert.rejects(recoveryRules.replace(wrong), isRefused(400, message));
  await assert.rejects(recoveryRules.test(wrong), isRefused(400, message));
  assert.deepEqual((await recoveryRules.list()).rules, rules);
  const headers = { "content-type": "application/json" };
  const put = async (body: object) => shop.call({ method: "PUT", path: "/v1/recovery_rules", headers, body });
  assert.match(String((await put([])).json.message), /^the body must be a JSON object$/);
  assert.match(String((await put({})).json.message), /^rules must be a list of rules$/);
  assert.equal((await shop.call({ method: "PUT", path: "/v1/recovery_rules", headers: {}, body: {} })).status, 415);
});

test("a key sees only the rules of its own merchant, and needs the permissions", async (t) => {
  const [shop, other] = [await service.shop({ endpoint: false }), await service.shop({ endpoint: false })];
  const [own, stranger] = [clientOf(shop), clientOf(other)];
  t.after(own.close);
  t.after(stranger.close);
  const { rules } = await own.recoveryRules.replace(RULES);
  await failedInvoice(shop);
  assert.deepEqual(await stranger.recoveryRules.list(), { rules: [] });
  assert.equal((await stranger.recoveryRules.test(RULES)).openCases, 0);
  await stranger.recoveryRules.replace([]);
  assert.deepEqual((await own.recoveryRules.list()).rules, rules);
  for (const [permission, call] of [
    ["read:recovery_rules", ({ list }: typeof own.recoveryRules) => list()],
    ["read:recovery_rules", ({ test }: typeof own.recoveryRules) => test([])],
    ["manage:recovery_rules", ({ replace }: typeof own.recoveryRules) => replace([])],
  ] as const) {
    const apiKey = await shop.key(PERMISSIONS.filter((name) => name !== permission));
    const lacking = clientOf({ apiKey });
    t.after(lacking.close);
    await assert.rejects(call(lacking.recoveryRules), isRefused(403, new RegExp(`lacks the permission ${permission}`)));
  }
});

test("other methods are answered as on every path, and a body is checked after the key", async () => {
  const shop = await service.shop({ endpoint: false });
  assert.equal((await shop.call({ method: "POST", path: "/v1/recovery_rules" })).status, 405);
  assert.equal((await shop.call({ path: "/v1/recovery_rules:test" })).status, 405);
  assert.equal((await shop.call({ method: "POST", path: "/v1/recovery_rules:other" })).status, 404);
  const headers = { "content-type": "application/json" };
  assert.equal((await service.call({ method: "PUT", path: "/v1/recovery_rules", headers, body: {} })).status, 401);
});
