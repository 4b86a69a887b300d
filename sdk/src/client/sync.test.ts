import assert from "node:assert/strict";
import { test } from "node:test";
import { DunlinError } from "./dunlin-error.ts";
import type { ListParams, RecoveryAction } from "./recovery-action.ts";
import { type SyncOptions, sync } from "./sync.ts";

const START_MS = Date.parse("2026-03-04T09:00:00Z");
/** Executed `ms` after the start. Ids increase within a millisecond. */
const action = (ms: number, id = `a${String(ms).padStart(4, "0")}`) =>
  ({ id, executedAt: new Date(START_MS + ms).toISOString() }) as RecoveryAction;

/** A list that answers as Dunlin does. Its page tokens are the index of the page's first action. */
function listOf(actions: RecoveryAction[]) {
  const requests: ListParams[] = [];
  const state = { stale: 0 };
  async function page(params: ListParams) {
    requests.push(params);
    if (params.pageToken !== undefined && state.stale > 0) {
      state.stale--;
      throw new DunlinError(400, "pageToken is too old");
    }
    const { executedAfter = "", executedBefore = "9", pageSize = 100, pageToken = "0" } = params;
    const matching = actions.filter(
      ({ executedAt = "" }) => executedAt >= executedAfter && executedAt <= executedBefore,
    );
    const end = Number(pageToken) + pageSize;
    return {
      recoveryActions: matching.slice(Number(pageToken), end),
      nextPageToken: end < matching.length ? String(end) : "",
      totalSize: matching.length,
    };
  }
  return { page, requests, state };
}

async function collectAll(page: ReturnType<typeof listOf>["page"], options?: SyncOptions) {
  const ids: string[] = [];
  let token: string | undefined;
  for await (const { recoveryActions, token: next } of sync(page, options)) {
    ids.push(...recoveryActions.map(({ id }) => id));
    token = next;
  }
  return { ids, token };
}

test("a sync that is stopped after any page resumes after it without gaps or duplicates", async () => {
  // Many actions share a time, so that a page ends among them.
  const actions = [1, 2, 2, 2, 2, 2, 3, 5, 5, 5].map((ms, n) => action(ms, `id${n}`));
  for (const pageSize of [1, 2, 3, 10]) {
    const { page } = listOf(actions);
    const ids: string[] = [];
    for (let token: string | undefined, more = true; more; ) {
      more = false;
      for await (const next of sync(page, { since: token, pageSize })) {
        ids.push(...next.recoveryActions.map(({ id }) => id));
        token = next.token;
        more = true;
        break;
      }
    }
    assert.deepEqual(
      ids,
      actions.map(({ id }) => id),
      `${pageSize}`,
    );
  }
});

test("a walk ascends by execution and keeps its filters, and the next one starts at the last time", async () => {
  const actions = [action(1), action(2), action(3)];
  const { page, requests } = listOf(actions);
  const first = await collectAll(page, { pageSize: 2, currency: "EUR", until: new Date(START_MS + 9) });
  const walk = { currency: "EUR", orderBy: "executed_at", orderDirection: "asc" };
  const executedBefore = "2026-03-04T09:00:00.009Z";
  assert.deepEqual(requests, [
    { ...walk, pageSize: 2, executedBefore },
    { ...walk, pageSize: 2, executedBefore, pageToken: "2" },
  ]);
  requests.length = 0;
  actions.push(action(4));
  assert.deepEqual((await collectAll(page, { since: first.token, currency: "EUR" })).ids, ["a0004"]);
  assert.deepEqual(requests, [{ ...walk, executedAfter: "2026-03-04T09:00:00.003Z" }]);
  assert.deepEqual(await collectAll(page, { since: "2026-03-04T10:00:00.003+01:00" }).then(({ ids }) => ids), [
    "a0003",
    "a0004",
  ]);
});

test("a sync without new actions yields no page, and its token stays valid", async () => {
  const { page } = listOf([action(1)]);
  const { token } = await collectAll(page);
  assert.deepEqual(await collectAll(page, { since: token }), { ids: [], token: undefined });
});

test("an expired page token is replaced, at most once per position", async () => {
  const actions = [1, 2, 3, 4, 5].map((ms) => action(ms));
  const { page, state } = listOf(actions);
  state.stale = 1;
  assert.deepEqual(
    (await collectAll(page, { pageSize: 2 })).ids,
    actions.map(({ id }) => id),
  );
  state.stale = 2;
  await assert.rejects(collectAll(page, { pageSize: 1 }), /too old/);
});

test("an error that a new page token would not fix reaches the caller after one request", async () => {
  const refusal = new DunlinError(400, "unknown currency");
  const [overload, bug] = [new DunlinError(503, "overload"), new TypeError("no JSON")];
  for (const [failing, error] of [
    [1, refusal],
    [2, overload],
    [2, bug],
  ] as const) {
    const { page } = listOf([action(1), action(2)]);
    let requests = 0;
    const ids: string[] = [];
    const walk = sync((params) => (++requests === failing ? Promise.reject(error) : page(params)), { pageSize: 1 });
    await assert.rejects(async () => {
      for await (const { recoveryActions } of walk) ids.push(...recoveryActions.map(({ id }) => id));
    }, error);
    assert.deepEqual([requests, ids], [failing, ["a0001"].slice(0, failing - 1)], error.message);
  }
});

test("a time is inclusive for any ids", async () => {
  const { page } = listOf([action(1, "0190-a"), action(2, "0190-b"), action(2, "0190-c")]);
  assert.deepEqual((await collectAll(page, { since: new Date(START_MS + 2) })).ids, ["0190-b", "0190-c"]);
});

test("actions that a later page repeats are yielded once", async () => {
  const actions = [action(1, "z"), action(2, "b"), action(2, "c"), action(3, "a")];
  const page = async ({ pageToken }: ListParams) =>
    pageToken === undefined
      ? { recoveryActions: actions.slice(0, 2), nextPageToken: "2", totalSize: 4 }
      : { recoveryActions: actions, nextPageToken: "", totalSize: 4 };
  assert.deepEqual((await collectAll(page)).ids, ["z", "b", "c", "a"]);
});

test("the signal is passed with every request", async () => {
  const { page } = listOf([action(1), action(2)]);
  const { signal } = new AbortController();
  const signals: unknown[] = [];
  const walk = sync(
    (params, options) => {
      signals.push(options.signal);
      return page(params);
    },
    { signal, pageSize: 1 },
  );
  for await (const _ of walk);
  assert.deepEqual(signals, [signal, signal]);
});

test("a since that is neither a time nor a token is refused with a message", async () => {
  for (const since of ["yesterday", "", "2026-03-04T09:00:00Z/a/b", "/a"])
    await assert.rejects(collectAll(listOf([]).page, { since }), {
      name: "TypeError",
      message: `since must be a time or the token of a sync, not "${since}"`,
    });
});
