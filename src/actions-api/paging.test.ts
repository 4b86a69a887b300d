import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { testApi } from "../api/api.fixture.ts";
import { advanceMerchantClock } from "../tables/merchant-clocks.ts";
import {
  createListFixture,
  insertAction,
  type ListFixture,
  newMerchant,
  secondsToTime,
  violatedField,
  walkPages,
} from "./list.fixture.ts";
import { pageTokenKeys } from "./page-token.ts";

let fixture: ListFixture;
before(async () => {
  fixture = await createListFixture();
});
after(async () => {
  await fixture.api.close();
  await fixture.database.drop();
});

test("a walk in any order sees each row once, even if rows share a timestamp or a millisecond", async () => {
  const { merchant, list } = await newMerchant(fixture);
  const ids: string[] = [];
  for (let count = 0; count < 23; count++) {
    const time = `2026-01-20T10:00:00.00${Math.floor(count / 10)}${String(count % 10).repeat(count % 2)}Z`;
    ids.push(await insertAction(fixture.database.db, merchant, { createdAt: time, executedAt: time }));
  }
  for (const orderBy of ["created_at", "executed_at", "updated_at"])
    for (const orderDirection of ["asc", "desc"])
      for (const pageSize of ["1", "7", "22", "23", "24"]) {
        const seen = await walkPages(list, { orderBy, orderDirection, pageSize });
        assert.deepEqual([...seen].sort(), [...ids].sort(), `${orderBy} ${orderDirection} ${pageSize}`);
      }
  const forward = await walkPages(list, { orderDirection: "asc", pageSize: "5" });
  assert.deepEqual(await walkPages(list, { pageSize: "4" }), forward.toReversed());
});

test("pageSize is 100 when it is absent, below 1 or above 100, and gets a 400 when it is no integer", async () => {
  const { merchant, get, list } = await newMerchant(fixture);
  for (let count = 0; count < 102; count++)
    await insertAction(fixture.database.db, merchant, { createdAt: secondsToTime(count) });
  for (const query of [
    {},
    { pageSize: "" },
    { pageSize: "0" },
    { pageSize: "-5" },
    { pageSize: "101" },
    { pageSize: "99999999999999999999999" },
  ])
    assert.equal((await list(query as Record<string, string>)).recoveryActions.length, 100);
  assert.equal((await list({ pageSize: "3" })).recoveryActions.length, 3);
  for (const pageSize of ["abc", "1.5", " ", " 5", "1e2", "0x10", "５"])
    assert.equal(violatedField(await get({ pageSize })), "pageSize", pageSize);
});

test("totalSize is counted once per walk, the token's filters apply, and pageSize can change", async () => {
  const { merchant, list } = await newMerchant(fixture);
  for (let count = 0; count < 6; count++)
    await insertAction(fixture.database.db, merchant, {
      createdAt: secondsToTime(count),
      currency: count % 2 ? "EUR" : "USD",
    });
  const first = await list({ currency: "EUR", pageSize: "1", orderDirection: "asc" });
  assert.equal(first.totalSize, 3);
  await insertAction(fixture.database.db, merchant, { createdAt: secondsToTime(50) });
  const next = await list({ pageToken: first.nextPageToken, pageSize: "2" });
  assert.equal(next.totalSize, 3);
  assert.deepEqual(
    next.recoveryActions.map(({ createdAt, currency }) => [createdAt, currency]),
    [
      [secondsToTime(3), "EUR"],
      [secondsToTime(5), "EUR"],
    ],
  );
  const last = await list({
    pageToken: next.nextPageToken,
    currency: "EUR",
    orderBy: "created_at",
    orderDirection: "asc",
  });
  assert.deepEqual([last.recoveryActions.length, last.nextPageToken, last.totalSize], [1, "", 3]);
});

test("a token with a different filter or order gets a 400 that names the parameter", async () => {
  const { merchant, get, list } = await newMerchant(fixture);
  for (let count = 0; count < 3; count++)
    await insertAction(fixture.database.db, merchant, {
      createdAt: secondsToTime(count),
      executedAt: secondsToTime(count),
    });
  const { nextPageToken: pageToken } = await list({
    pageSize: "1",
    currency: "EUR",
    executedAfter: "2026-01-01T00:00:00Z",
  });
  const differing: Record<string, string> = {
    currency: "USD",
    invoiceId: "in_1",
    executedAfter: "2026-01-01T00:00:01Z",
    executedBefore: "2026-03-01T00:00:00Z",
    orderBy: "updated_at",
    orderDirection: "asc",
    type: "RECOVERY_ACTION_TYPE_RETRY",
  };
  for (const [name, value] of Object.entries(differing))
    assert.equal(violatedField(await get({ pageToken, [name]: value })), name);
  await list({ pageToken, executedAfter: "2026-01-01T01:00:00+01:00" });
});

test("a token gets a 400 when it was changed, belongs to another merchant or is a day old", async () => {
  const { merchant, get, list } = await newMerchant(fixture);
  const other = await newMerchant(fixture);
  for (let count = 0; count < 3; count++)
    await insertAction(fixture.database.db, merchant, { createdAt: secondsToTime(count) });
  const { nextPageToken: token } = await list({ pageSize: "1" });
  const [payload, signature] = token.split(".") as [string, string];
  const richer = Buffer.from(Buffer.from(payload, "base64url").toString().replace('"total":3', '"total":9')).toString(
    "base64url",
  );
  const wrong = [
    "x",
    ".",
    `${payload}.`,
    payload,
    `${payload}=.${signature}`,
    `${token}=`,
    `${token} `,
    ` ${token}`,
    `${token}\n`,
    `${richer}.${signature}`,
    `${payload}.${signature.slice(0, -1)}${signature.endsWith("A") ? "B" : "A"}`,
    `${payload}.${signature}.${signature}`,
    "e30.",
    "1",
    "null",
  ];
  for (const pageToken of wrong) assert.equal(violatedField(await get({ pageToken })), "pageToken", pageToken);
  assert.equal(violatedField(await other.get({ pageToken: token })), "pageToken");
  fixture.clock.realMs += 24 * 3_600_000 - 1;
  await list({ pageToken: token });
  fixture.clock.realMs += 1;
  assert.equal(violatedField(await get({ pageToken: token })), "pageToken");
  assert.equal((await list({ pageToken: "" })).recoveryActions.length, 3);
});

test("a token signed with the former key works while that key is kept, and the next token is signed with the new key", async () => {
  const { merchant, apiKey, list } = await newMerchant(fixture);
  for (let count = 0; count < 4; count++)
    await insertAction(fixture.database.db, merchant, { createdAt: secondsToTime(count) });
  const { nextPageToken: pageToken } = await list({ pageSize: "1" });
  const [former, newer] = [Buffer.alloc(32, 7), Buffer.alloc(32, 8)];
  const under = async (keys: readonly Buffer[], token: string) => {
    const api = await testApi(fixture.database.db, fixture.clock, { tokenKeys: keys });
    const url = `/v1/recovery_actions?pageSize=1&pageToken=${token}`;
    const reply = await api.http.inject({ url, headers: { authorization: `Bearer ${apiKey}` } });
    await api.close();
    return reply;
  };
  const next = await under([newer, former], pageToken);
  assert.equal(next.statusCode, 200);
  assert.equal(next.json().recoveryActions[0].createdAt, secondsToTime(2));
  assert.equal((await under([newer], next.json().nextPageToken)).statusCode, 200);
  assert.equal(violatedField(await under([newer], pageToken)), "pageToken");
  // Derived keys are valid until their secret key is removed.
  const derived = (key: Buffer) => pageTokenKeys(["default"], [key])[0];
  assert.deepEqual(pageTokenKeys(["default", former], [newer, former]), [derived(newer), derived(former), former]);
});

for (const orderBy of ["created_at", "executed_at"])
  test(`an ascending walk by ${orderBy} misses no action while others are written and one transaction stays open`, async () => {
    const { merchant, list } = await newMerchant(fixture);
    const written: string[] = [];
    // Writes as the service does: locks the merchant's clock, writes with its time, commits.
    const write = (now: string, held: Promise<void> = Promise.resolve()) =>
      fixture.database.db.transaction(async (tx) => {
        const time = (await advanceMerchantClock(tx, merchant.id, new Date(now))).toISOString();
        written.push(await insertAction(tx, merchant, { createdAt: time, executedAt: time }));
        await held;
      });
    for (let count = 0; count < 5; count++) await write(secondsToTime(count));
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    // The walk reaches the last committed row while one transaction is open and others wait to write later rows.
    const holding = write(secondsToTime(6), held);
    while (written.length < 6) await new Promise((resolve) => setTimeout(resolve, 5));
    const waiting = [write(secondsToTime(9)), write(secondsToTime(3)), write(secondsToTime(8))];
    const seen: unknown[] = [];
    const query = { orderBy, orderDirection: "asc", pageSize: "2" };
    let pageToken = "";
    for (let seenOfPage = 0; seen.length < 9; ) {
      const { recoveryActions, nextPageToken } = await list({ ...query, pageToken });
      seen.push(...recoveryActions.slice(seenOfPage).map(({ id }) => id));
      seenOfPage = nextPageToken === "" ? recoveryActions.length : 0;
      if (nextPageToken !== "") pageToken = nextPageToken;
      else {
        release();
        await Promise.all([holding, ...waiting]);
      }
    }
    assert.deepEqual(seen, written);
    assert.equal((await list()).totalSize, 9);
  });
