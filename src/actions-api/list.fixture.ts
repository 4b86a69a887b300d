// Setup for tests of the list: actions inserted by SQL, and walks over the pages.
import assert from "node:assert/strict";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import { type TestClock, testApi, testClock, testKey, testMerchant, uuidv7 } from "../api/api.fixture.ts";
import type { Merchant } from "../domain/merchant.ts";
import type { ActionStatus, ActionType, RecoveryAction } from "../domain/recovery-action.ts";
import { prepared, type Tx } from "../postgres/database.ts";
import { insertRecoveryActions } from "../tables/recovery-actions.ts";

export interface ListFixture {
  database: TestDatabase;
  clock: TestClock;
  api: Awaited<ReturnType<typeof testApi>>;
}

export async function createListFixture(): Promise<ListFixture> {
  const database = await createTestDatabase();
  const clock = testClock();
  return { database, clock, api: await testApi(database.db, clock) };
}

const INSERT_CASE = prepared(
  "test_case",
  `insert into cases (merchant_id, id, invoice_id, customer_id, amount, currency, unpaid_at, window_ends_at, budget, opened_at,
     ended_at, end_reason)
   values ($1, $2, $3, 'c', 900, 'EUR', '2026-01-01', '2026-02-01', 8, '2026-01-01', '2026-02-01', 'window_over')`,
);
const INSERT_TRANSACTION = prepared(
  "test_transaction",
  `insert into transactions (merchant_id, id, state, invoice_id, amount, currency, created_at, updated_at)
   values ($1, $2, 'PAID', $3, 900, 'EUR', '2026-01-20', '2026-01-20')`,
);

export interface ActionFixture {
  invoiceId?: string;
  subscriptionId?: string | null;
  customerId?: string;
  transactionId?: string | null;
  cardCountry?: string | null;
  currency?: string;
  type?: ActionType;
  status?: ActionStatus;
  executedAt?: string | null;
  createdAt: string;
  updatedAt?: string;
}

export async function newMerchant({ database, api }: ListFixture) {
  const merchant = await testMerchant(database.db, api.ports);
  const { apiKey } = await testKey(database.db, api.ports, merchant, ["read:recovery_actions"]);
  const get = async (query: Record<string, string> | string) => {
    const search = typeof query === "string" ? query : new URLSearchParams(query).toString();
    return api.http.inject({ url: `/v1/recovery_actions?${search}`, headers: { authorization: `Bearer ${apiKey}` } });
  };
  const list = async (query: Record<string, string> = {}) => {
    const reply = await get(query);
    assert.equal(reply.statusCode, 200, reply.body);
    return reply.json() as { recoveryActions: Record<string, unknown>[]; nextPageToken: string; totalSize: number };
  };
  return { merchant, apiKey, get, list };
}

// Finer than the whole milliseconds that the service writes.
const SET_TIMESTAMPS = ["recovery_actions", "listed_actions"].map((table) =>
  prepared(
    `test_moments_${table}`,
    `update ${table} set created_at = $3, executed_at = $4, updated_at = $5 where merchant_id = $1 and id = $2`,
  ),
);

export async function insertAction(tx: Tx, merchant: Merchant, action: ActionFixture): Promise<string> {
  const id = uuidv7(Date.parse(action.createdAt));
  const caseId = uuidv7(0);
  const { invoiceId = "in_1" } = action;
  await tx.run(INSERT_CASE, [merchant.id, caseId, invoiceId]);
  if (action.transactionId) await tx.run(INSERT_TRANSACTION, [merchant.id, action.transactionId, invoiceId]);
  const { executedAt = null, createdAt, updatedAt = executedAt ?? createdAt } = action;
  const executed = executedAt === null ? null : new Date(executedAt);
  const listed: RecoveryAction = {
    id,
    caseId,
    invoiceId,
    subscriptionId: action.subscriptionId ?? null,
    customerId: action.customerId ?? "cus_1",
    transactionId: action.transactionId ?? null,
    paymentMethodType: executed && "card",
    cardCountry: action.cardCountry ?? null,
    currency: action.currency ?? "EUR",
    amountDue: null,
    type: action.type ?? "RETRY",
    status: action.status ?? (executed ? "SUCCEEDED" : "SENT"),
    integrationType: "CUSTOM",
    actionSuggestion: "RETRY",
    idealRetryTime: new Date("2026-01-20T10:00:00Z"),
    reasons: ["Payday is near."],
    decidedAt: new Date("2026-01-20T09:00:00Z"),
    executedAt: executed,
    attemptedAt: executed,
    createdAt: new Date(createdAt),
    updatedAt: new Date(updatedAt),
  };
  await insertRecoveryActions(tx, merchant.id, [listed]);
  if (/\.\d{4}/.test(`${createdAt} ${executedAt} ${updatedAt}`))
    for (const statement of SET_TIMESTAMPS)
      await tx.run(statement, [merchant.id, id, createdAt, executedAt, updatedAt]);
  return id;
}

/** Returns all ids of a walk. Runs `between` after each page. */
export async function walkPages(
  list: Awaited<ReturnType<typeof newMerchant>>["list"],
  query: Record<string, string>,
  between = async (_page: number) => {},
) {
  const ids: unknown[] = [];
  let pageToken = "";
  for (let page = 1; ; page++) {
    const reply = await list({ ...query, pageToken });
    ids.push(...reply.recoveryActions.map(({ id }) => id));
    pageToken = reply.nextPageToken;
    if (pageToken === "") return ids;
    await between(page);
  }
}
export const secondsToTime = (count: number) => new Date(Date.UTC(2026, 0, 10) + count * 1000).toISOString();
/** Asserts a 400, and returns the field that it names. */
export const violatedField = (reply: {
  statusCode: number;
  json(): { code: number; message: string; details: { "@type": string; fieldViolations: { field: string }[] }[] };
}) => {
  assert.equal(reply.statusCode, 400);
  const { code, details } = reply.json();
  assert.equal(code, 400);
  assert.equal(details[0]!["@type"], "type.googleapis.com/google.rpc.BadRequest");
  return details[0]!.fieldViolations[0]?.field;
};
