import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  createListFixture,
  insertAction,
  type ListFixture,
  newMerchant,
  secondsToTime,
  violatedField,
} from "./list.fixture.ts";
import { PARAMETERS } from "./list-query.ts";

let fixture: ListFixture;
before(async () => {
  fixture = await createListFixture();
});
after(async () => {
  await fixture.api.close();
  await fixture.database.drop();
});

test("a merchant without actions gets an empty page", async () => {
  const { list } = await newMerchant(fixture);
  assert.deepEqual(await list(), { recoveryActions: [], nextPageToken: "", totalSize: 0 });
});

test("an action is shown with enum prefixes and without unknown values", async () => {
  const { merchant, list } = await newMerchant(fixture);
  const planned = await insertAction(fixture.database.db, merchant, { createdAt: "2026-01-15T10:00:00Z" });
  const executed = await insertAction(fixture.database.db, merchant, {
    subscriptionId: "sub_1",
    transactionId: "tx_1",
    cardCountry: "DE",
    createdAt: "2026-01-16T10:00:00Z",
    executedAt: "2026-01-20T10:00:05.25Z",
    updatedAt: "2026-01-20T10:00:05.250999Z",
  });
  const { recoveryActions } = await list();
  assert.deepEqual(recoveryActions, [
    {
      id: executed,
      subscriptionId: "sub_1",
      invoiceId: "in_1",
      customerId: "cus_1",
      transactionId: "tx_1",
      paymentMethodType: "card",
      cardCountry: "DE",
      currency: "EUR",
      type: "RECOVERY_ACTION_TYPE_RETRY",
      status: "RECOVERY_ACTION_STATUS_SUCCEEDED",
      integrationType: "INTEGRATION_TYPE_CUSTOM",
      createdAt: "2026-01-16T10:00:00.000Z",
      executedAt: "2026-01-20T10:00:05.250Z",
      updatedAt: "2026-01-20T10:00:05.250Z",
      actionSuggestion: "ACTION_SUGGESTION_RETRY",
      idealRetryTime: "2026-01-20T10:00:00.000Z",
      attemptedAt: "2026-01-20T10:00:05.250Z",
      reasons: ["Payday is near."],
    },
    {
      id: planned,
      invoiceId: "in_1",
      customerId: "cus_1",
      currency: "EUR",
      type: "RECOVERY_ACTION_TYPE_RETRY",
      status: "RECOVERY_ACTION_STATUS_SENT",
      integrationType: "INTEGRATION_TYPE_CUSTOM",
      createdAt: "2026-01-15T10:00:00.000Z",
      updatedAt: "2026-01-15T10:00:00.000Z",
      actionSuggestion: "ACTION_SUGGESTION_RETRY",
      idealRetryTime: "2026-01-20T10:00:00.000Z",
      reasons: ["Payday is near."],
    },
  ]);
});

test("each filter selects and counts its actions, alone and combined", async () => {
  const { merchant, list } = await newMerchant(fixture);
  const a = await insertAction(fixture.database.db, merchant, {
    invoiceId: "in_a",
    subscriptionId: "sub_a",
    customerId: "cus_a",
    cardCountry: "DE",
    createdAt: secondsToTime(1),
  });
  const b = await insertAction(fixture.database.db, merchant, {
    invoiceId: "in_b",
    customerId: "cus_a",
    transactionId: "tx_b",
    cardCountry: "FR",
    currency: "USD",
    createdAt: secondsToTime(2),
    executedAt: secondsToTime(9),
  });
  const c = await insertAction(fixture.database.db, merchant, {
    invoiceId: "in_b",
    cardCountry: "DE",
    type: "CARD_CHANGE",
    status: "EXPIRED",
    createdAt: secondsToTime(3),
  });
  const expected: [Record<string, string>, string[]][] = [
    [{}, [c, b, a]],
    [{ invoiceId: "in_b" }, [c, b]],
    [{ subscriptionId: "sub_a" }, [a]],
    [{ customerId: "cus_a" }, [b, a]],
    [{ transactionId: "tx_b" }, [b]],
    [{ cardCountry: "DE" }, [c, a]],
    [{ currency: "USD" }, [b]],
    [{ type: "RECOVERY_ACTION_TYPE_CARD_CHANGE" }, [c]],
    [{ status: "RECOVERY_ACTION_STATUS_SUCCEEDED" }, [b]],
    [{ invoiceId: "in_b", cardCountry: "DE" }, [c]],
    [{ invoiceId: "in_a", customerId: "cus_a", subscriptionId: "sub_a", cardCountry: "DE", currency: "EUR" }, [a]],
    [{ invoiceId: "in_c" }, []],
    [{ orderDirection: "asc" }, [a, b, c]],
    [{ orderBy: "executed_at" }, [b]],
    [{ executedAfter: "1970-01-01T00:00:00Z" }, [b]],
  ];
  for (const [query, ids] of expected) {
    const { recoveryActions, totalSize } = await list(query);
    assert.deepEqual(
      recoveryActions.map(({ id }) => id),
      ids,
      JSON.stringify(query),
    );
    assert.equal(totalSize, ids.length);
  }
});

test("the bounds of the execution time are inclusive, to the millisecond", async () => {
  const { merchant, list } = await newMerchant(fixture);
  const early = await insertAction(fixture.database.db, merchant, {
    createdAt: secondsToTime(1),
    executedAt: "2026-01-20T10:00:00.123Z",
  });
  const late = await insertAction(fixture.database.db, merchant, {
    createdAt: secondsToTime(2),
    executedAt: "2026-01-20T10:00:00.124900Z",
  });
  const ids = async (query: Record<string, string>) =>
    (await list({ ...query, orderBy: "executed_at", orderDirection: "asc" })).recoveryActions.map(({ id }) => id);
  assert.deepEqual(await ids({ executedAfter: "2026-01-20T10:00:00.123Z" }), [early, late]);
  assert.deepEqual(await ids({ executedAfter: "2026-01-20T11:00:00.124+01:00" }), [late]);
  assert.deepEqual(await ids({ executedBefore: "2026-01-20T10:00:00.123Z" }), [early]);
  assert.deepEqual(await ids({ executedBefore: "2026-01-20T10:00:00.124Z" }), [early, late]);
  assert.deepEqual(
    await ids({ executedAfter: "2026-01-20T10:00:00.124Z", executedBefore: "2026-01-20T10:00:00.123Z" }),
    [],
  );
});

test("an invalid, unknown or repeated parameter gets a 400 that names it", async () => {
  const { get } = await newMerchant(fixture);
  const wrong: [string, string | undefined][] = [
    ["orderBy=id", "orderBy"],
    ["orderDirection=up", "orderDirection"],
    ["orderDirection=ASC", "orderDirection"],
    ["cardCountry=de", "cardCountry"],
    ["currency=EURO", "currency"],
    ...Object.keys(PARAMETERS).map((name): [string, string] => [`${name}=a%00b`, name]),
    [`customerId=${"x".repeat(256)}`, "customerId"],
    ["type=RETRY", "type"],
    ["status=RECOVERY_ACTION_STATUS_DONE", "status"],
    ["executedAfter=yesterday", "executedAfter"],
    ["executedAfter=2026-02-30T00:00:00Z", "executedAfter"],
    ["executedBefore=2026-01-01", "executedBefore"],
    ["executedBefore=2026-01-01T00:00:00+02:00", "executedBefore"],
    ["executedAfter=infinity", "executedAfter"],
    ["invoice_id=in_1", "invoice_id"],
    ["pagesize=5", "pagesize"],
    ["invoiceId=a&invoiceId=a", "invoiceId"],
    ["invoiceId=&invoiceId=a", "invoiceId"],
    ["invoice_id=", "invoice_id"],
    ["pageSize=1&pageSize=2", "pageSize"],
    ["__proto__=1", undefined],
    ["constructor=1", "constructor"],
    ["a[b]=1", undefined],
    ["4111111111111111=1", undefined],
    ["invoiceId=%ff", undefined],
    ["invoiceId=%", undefined],
  ];
  for (const [query, field] of wrong) {
    const reply = await get(query);
    assert.equal(violatedField(reply), field, query);
    assert.equal(reply.body.includes("4111"), false);
  }
  assert.equal((await get("&&invoiceId=a%20b%2Bc&")).statusCode, 200);
});

test("every empty parameter means the same as an absent one", async () => {
  const { merchant, get, list } = await newMerchant(fixture);
  await insertAction(fixture.database.db, merchant, { createdAt: secondsToTime(1), currency: "EUR" });
  const all = (await get("")).body;
  for (const name of Object.keys(PARAMETERS)) assert.equal((await get(`${name}=`)).body, all, name);
  assert.equal((await get(`${Object.keys(PARAMETERS).join("=&")}=`)).body, all);
  await insertAction(fixture.database.db, merchant, { createdAt: secondsToTime(2), currency: "EUR" });
  const { nextPageToken: pageToken } = await list({ currency: "EUR", pageSize: "1" });
  assert.equal((await list({ pageToken, currency: "", orderBy: "" })).recoveryActions.length, 1);
});

test("every error of the list carries an object with @type", async () => {
  const { get } = await newMerchant(fixture);
  const { http } = fixture.api;
  const replies = [
    await http.inject("/v1/recovery_actions"),
    await http.inject({ url: "/v1/recovery_actions", headers: { authorization: "Bearer x" } }),
    await http.inject({ method: "POST", url: "/v1/recovery_actions?x=1" }),
    await get("invoice_id=1"),
    await http.inject({ url: "/v1/recovery_actions", headers: { expect: "200-ok" } }),
  ];
  assert.deepEqual(
    replies.map((reply) => [reply.statusCode, reply.json().details.map((each: { reason?: string }) => each.reason)]),
    [
      [401, ["UNAUTHENTICATED"]],
      [401, ["UNAUTHENTICATED"]],
      [405, ["METHOD_NOT_ALLOWED"]],
      [400, [undefined]],
      [417, ["EXPECTATION_FAILED"]],
    ],
  );
  for (const reply of replies)
    for (const detail of reply.json().details) assert.match(detail["@type"], /^type\.googleapis\.com\/google\.rpc\./);
});

test("a merchant never sees another merchant's actions, even if all ids are the same", async () => {
  const one = await newMerchant(fixture);
  const two = await newMerchant(fixture);
  await insertAction(fixture.database.db, one.merchant, { createdAt: secondsToTime(1), customerId: "same" });
  assert.deepEqual(await two.list({ customerId: "same" }), { recoveryActions: [], nextPageToken: "", totalSize: 0 });
  assert.equal((await one.list({ customerId: "same" })).totalSize, 1);
});
