import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import type { Fields } from "./contract-records.ts";
import type { Shop } from "./contract-shop.ts";
import { eventually, type Service, useService } from "./running-service.ts";

// "List recovery actions": its five rules.
const use = useService();
let service: Service;
before(async () => {
  service = await use.start();
});
after(() => use.end());

type Query = Record<string, string | number>;
const ids = (actions: readonly Fields[]) => actions.map(({ id }) => String(id));

/** Creates a merchant with so many planned actions; `push` adds more and waits until they are listed. */
async function planned(count: number) {
  const shop = await service.shop({ endpoint: false });
  const push = async (more: number) => {
    const before = (await shop.list()).json.totalSize as number;
    await shop.push("invoices", ...Array.from({ length: more }, () => shop.invoice()));
    await eventually(async () => (await shop.list()).json.totalSize === before + more, "their actions");
  };
  await push(count);
  return { shop, push };
}

async function walk(shop: Shop, query: Query, pageToken = "", between: () => Promise<void> = async () => {}) {
  const found: Fields[] = [];
  for (let token = pageToken; ; ) {
    const { status, json, text } = await shop.list(token === "" ? query : { ...query, pageToken: token });
    assert.equal(status, 200, text);
    found.push(...(json.recoveryActions as Fields[]));
    token = String(json.nextPageToken);
    if (token === "") return found;
    await between();
  }
}

/** Pays these invoices one after the other, each by the action that requested it. */
async function execute(shop: Shop, invoices: readonly Fields[]) {
  for (const invoice of invoices) {
    const [action] = await eventually(async () => {
      const found = await shop.actions({ invoiceId: String(invoice.id) });
      return found[0]?.status === "RECOVERY_ACTION_STATUS_SENT" ? found : null;
    }, "the instruction");
    const paid = { state: "TRANSACTION_STATE_PAID", recoveryActionId: action!.id };
    await shop.push("transactions", shop.transaction(invoice, paid));
    const query = { invoiceId: String(invoice.id), orderBy: "executed_at" };
    await eventually(async () => (await shop.actions(query)).length === 1, "its execution");
  }
}

suite("rules of the listing", { concurrency: 8 }, () => {
  test("1. a request with a `pageToken` fetches the following page: together the pages are the whole, each action once", async () => {
    const { shop } = await planned(11);
    const whole = ids(await shop.actions());
    for (const pageSize of [1, 2, 5, 10, 11, 12]) assert.deepEqual(ids(await walk(shop, { pageSize })), whole);
  });

  test("1. the token carries filters and order: they may be left out, differing ones are a 400, `pageSize` may change", async () => {
    const { shop } = await planned(5);
    const query = { currency: "EUR", orderBy: "updated_at", orderDirection: "asc", pageSize: 2 };
    const whole = ids(await walk(shop, query));
    const pageToken = String((await shop.list(query)).json.nextPageToken);
    assert.deepEqual(ids(await shop.actions({ pageToken, pageSize: 3 })), whole.slice(2));
    const others = { currency: "USD", orderBy: "created_at", orderDirection: "desc", cardCountry: "DE" };
    for (const [name, value] of Object.entries(others))
      assert.equal((await shop.list({ pageToken, [name]: value })).status, 400, name);
  });

  test("2. an invalid `pageToken` gives a 400: a made-up, a changed, and another merchant's", async () => {
    const [{ shop }, other] = await Promise.all([planned(3), planned(3)]);
    const token = String((await shop.list({ pageSize: 1 })).json.nextPageToken);
    const changed = (token[5] === "A" ? "B" : "A") + token.slice(1);
    const others = String((await other.shop.list({ pageSize: 1 })).json.nextPageToken);
    for (const pageToken of ["x", "next", `${token}x`, token.slice(0, -1), changed, others, "0".repeat(5000)]) {
      const { status, json } = await shop.list({ pageToken });
      assert.equal(status, 400, pageToken);
      assert.equal(json.code, 400);
    }
  });

  for (const orderBy of ["created_at", "executed_at"])
    test(`3. while new actions arrive, sorting ascending by ${orderBy} misses none and repeats none`, async () => {
      const shop = await service.shop();
      const invoices = Array.from({ length: 6 }, () => shop.invoice());
      await shop.push("invoices", ...invoices.slice(0, 3));
      await execute(shop, invoices.slice(0, 3));
      let more = 3;
      const arrive = async () => {
        if (more === 6) return;
        await shop.push("invoices", invoices[more]!);
        await execute(shop, [invoices[more++]!]);
      };
      const walked = await walk(shop, { orderBy, orderDirection: "asc", pageSize: 1 }, "", arrive);
      assert.deepEqual(
        walked.map(({ invoiceId }) => invoiceId),
        invoices.map(({ id }) => id),
      );
    });

  test("3. descending order pushes new entries to the front: a walk in progress does not see them", async () => {
    const { shop, push } = await planned(4);
    const before = ids(await shop.actions());
    let pushed = false;
    const walked = await walk(shop, { pageSize: 2 }, "", async () => {
      if (!pushed) await push(2);
      pushed = true;
    });
    assert.deepEqual(ids(walked), before);
    assert.deepEqual(ids(await shop.actions()).slice(2), before);
  });

  test("4. incremental sync: everything up to a chosen time with `executedBefore`, then later entries with `executedAfter`", async () => {
    const shop = await service.shop();
    const invoices = Array.from({ length: 5 }, () => shop.invoice());
    await shop.push("invoices", ...invoices);
    await execute(shop, invoices.slice(0, 3));
    const chosen = shop.now().toISOString();
    const order = { orderBy: "executed_at", orderDirection: "asc", pageSize: 1 };
    const first = await walk(shop, { ...order, executedBefore: chosen });
    await execute(shop, invoices.slice(3));
    const second = await walk(shop, { ...order, executedAfter: chosen });
    const expected = invoices.map(({ id }) => id);
    assert.deepEqual(
      first.map(({ invoiceId }) => invoiceId),
      expected.slice(0, 3),
    );
    assert.deepEqual(
      second.map(({ invoiceId }) => invoiceId),
      expected.slice(3),
    );
  });

  test("5. after a connection failure a client resumes from the last successful `pageToken`, as often as it likes", async () => {
    const { shop } = await planned(7);
    const whole = ids(await shop.actions());
    const pageToken = String((await shop.list({ pageSize: 3 })).json.nextPageToken);
    for (let times = 0; times < 3; times++)
      assert.deepEqual(ids(await walk(shop, { pageSize: 3 }, pageToken)), whole.slice(3));
  });
});
