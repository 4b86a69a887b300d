import { randomUUID } from "node:crypto";
import { DAY_MS } from "../../domain/durations.ts";
import {
  ACTION_STATUSES,
  ACTION_TYPES,
  type ActionStatus,
  OPEN_ACTION_STATUSES,
  type RecoveryAction,
} from "../../domain/recovery-action.ts";
import { type Database, prepared } from "../../postgres/database.ts";
import { insertRecoveryActions, updateRecoveryActions } from "../recovery-actions.ts";
import type { ActionListing, ListingOrder } from "./action-listing.ts";

const INVOICES = 4_000;
const BATCH = 1_000;
const INSERT_CASES = prepared(
  "test_cases",
  `insert into cases (merchant_id, id, invoice_id, customer_id, amount, currency, unpaid_at, window_ends_at, budget, opened_at)
   select $1::uuid, id, invoice_id, 'cus', 900, 'EUR', '2026-01-01', '2027-01-01', 8, '2026-01-01'
   from unnest($2::uuid[], $3::text[]) as one (id, invoice_id)`,
);
const INSERT_TRANSACTIONS = prepared(
  "test_transactions",
  `insert into transactions (merchant_id, id, state, invoice_id, amount, currency, created_at, updated_at)
   select $1::uuid, id, 'PAID', invoice_id, 900, 'EUR', '2026-01-01', '2026-01-01'
   from unnest($2::text[], $3::text[]) as one (id, invoice_id)`,
);
const caseId = (invoice: number) => `0198a000-0000-7000-8000-${invoice.toString(16).padStart(12, "0")}`;

export const pseudoRandom = (index: number, salt: number) => {
  const x = Math.sin(index * 12.9898 + salt * 78.233) * 43758.5453;
  return x - Math.floor(x);
};
const pickOne = <T>(values: readonly T[], index: number, salt: number) =>
  values[Math.floor(pseudoRandom(index, salt) ** 2 * values.length)]!;

export const plannedAction = (index: number, createdAt: Date): RecoveryAction => ({
  id: randomUUID(),
  caseId: caseId(index % INVOICES),
  invoiceId: `in_${index % INVOICES}`,
  subscriptionId: index % 3 === 0 ? null : `sub_${index % 2_000}`,
  customerId: `cus_${index % 1_000}`,
  transactionId: null,
  paymentMethodType: null,
  cardCountry: null,
  currency: "EUR",
  amountDue: 4900,
  type: "RETRY",
  status: "SCHEDULED",
  integrationType: "CUSTOM",
  actionSuggestion: "RETRY",
  idealRetryTime: createdAt,
  reasons: [],
  decidedAt: createdAt,
  executedAt: null,
  attemptedAt: null,
  createdAt,
  updatedAt: createdAt,
});

export function settleAction(action: RecoveryAction, index: number): RecoveryAction {
  const type = pickOne(ACTION_TYPES, index, 1);
  const open = ACTION_STATUSES.filter((status) => status !== "SUCCEEDED" && status !== "FAILED");
  const isExecuted = pseudoRandom(index, 2) < 0.9;
  const lateMs = Math.floor(pseudoRandom(index, 3) ** 6 * 90 * DAY_MS);
  const executedAt = isExecuted ? new Date(action.createdAt.getTime() + lateMs) : null;
  return {
    ...action,
    type,
    status: isExecuted
      ? type === "RETRY" && pseudoRandom(index, 4) < 0.5
        ? "FAILED"
        : "SUCCEEDED"
      : pickOne(open, index, 5),
    transactionId: executedAt && `tx_${index}`,
    cardCountry: pickOne(["DE", "FR", null, "US", "IS"], index, 6),
    currency: pickOne(["EUR", "USD", "SEK"], index, 7),
    executedAt,
    updatedAt: new Date(
      (executedAt ?? action.createdAt).getTime() + Math.floor(pseudoRandom(index, 8) ** 9 * 40 * DAY_MS),
    ),
  };
}

export async function insertActions(db: Database, merchantId: string, actions: readonly RecoveryAction[]) {
  const invoices = Array.from({ length: INVOICES }, (_, invoice) => invoice);
  await db.run(INSERT_CASES, [merchantId, invoices.map(caseId), invoices.map((invoice) => `in_${invoice}`)]);
  for (let from = 0; from < actions.length; from += BATCH)
    await db.transaction((tx) => insertRecoveryActions(tx, merchantId, actions.slice(from, from + BATCH)));
}

export async function updateActions(db: Database, merchantId: string, actions: readonly RecoveryAction[]) {
  const answered = actions.filter(({ transactionId }) => transactionId !== null);
  const [ids, invoices] = [answered.map((action) => action.transactionId), answered.map((action) => action.invoiceId)];
  await db.transaction(async (tx) => {
    await updateRecoveryActions(tx, merchantId, actions);
    await tx.run(INSERT_TRANSACTIONS, [merchantId, ids, invoices]);
  });
}

const FIELDS = { executed_at: "executedAt", created_at: "createdAt", updated_at: "updatedAt" } as const;
export type Sorted = Record<ListingOrder, readonly RecoveryAction[]>;

export function sortedActions(actions: readonly RecoveryAction[]): Sorted {
  const by = (order: ListingOrder) =>
    actions.toSorted((a, b) => msOf(a, order) - msOf(b, order) || (a.id < b.id ? -1 : 1));
  return { executed_at: by("executed_at"), created_at: by("created_at"), updated_at: by("updated_at") };
}

const msOf = (action: RecoveryAction, order: ListingOrder) => action[FIELDS[order]]?.getTime() ?? 0;

export const cursorOn = (action: RecoveryAction, order: ListingOrder) => ({
  at: new Date(msOf(action, order)).toISOString(),
  id: action.id,
});

export function expectedActions(sorted: Sorted, { filters, orderBy, descending }: ActionListing): RecoveryAction[] {
  const { executedAfter, executedBefore, status, ...equal } = filters;
  const statuses: readonly ActionStatus[] | undefined = status === "OPEN" ? OPEN_ACTION_STATUSES : status && [status];
  const onlyExecuted = orderBy === "executed_at" || executedAfter !== undefined || executedBefore !== undefined;
  const found = sorted[orderBy]
    .filter((action) =>
      Object.entries(equal).every(([field, value]) => action[field as keyof RecoveryAction] === value),
    )
    .filter((action) => statuses === undefined || statuses.includes(action.status))
    .filter(({ executedAt }) => !onlyExecuted || executedAt !== null)
    .filter(({ executedAt }) => !executedAfter || executedAt! >= executedAfter)
    .filter(({ executedAt }) => !executedBefore || executedAt! <= executedBefore);
  return descending ? found.reverse() : found;
}
