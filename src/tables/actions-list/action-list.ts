import type { RecoveryAction } from "../../domain/recovery-action.ts";
import { prepared, preparedGeneric, type Tx } from "../../postgres/database.ts";
import { candidatesSql } from "./action-candidates.ts";
import { type ActionListing, buildListingSql, type Cursor, type ListingSql } from "./action-listing.ts";
import { totalSql } from "./action-total.ts";

const TIME_FIELDS = ["idealRetryTime", "executedAt", "attemptedAt", "createdAt", "updatedAt"] as const;
type TimeField = (typeof TIME_FIELDS)[number];

/** Times are text as shown (`2026-03-02T07:12:00.123Z`). */
export type ListedAction = Omit<RecoveryAction, "caseId" | "decidedAt" | TimeField> & {
  [name in TimeField]: null extends RecoveryAction[name] ? string | null : string;
} & { cursorAt: string };

// A Date for each time would be expensive.
const SELECTED = `id, invoice_id as "invoiceId", subscription_id as "subscriptionId", customer_id as "customerId",
         transaction_id as "transactionId", payment_method_type as "paymentMethodType", card_country as "cardCountry", currency,
         amount_due as "amountDue", type, status, integration_type as "integrationType", action_suggestion as "actionSuggestion",
         reasons,
         (ideal_retry_time at time zone 'UTC')::text as "idealRetryTime",
         (executed_at at time zone 'UTC')::text as "executedAt",
         (attempted_at at time zone 'UTC')::text as "attemptedAt",
         (created_at at time zone 'UTC')::text as "createdAt",
         (updated_at at time zone 'UTC')::text as "updatedAt"`;

/**
 * The total, over all pages, is from the same snapshot.
 *
 * @param limit  one more than the page shows whether there is another page
 */
export async function readFirstPage(tx: Tx, merchantId: string, listing: ActionListing, limit: number) {
  const text = buildListingSql(merchantId, listing);
  const rows = await readPage(tx, "first", text, null, totalSql(text), limit);
  return { total: rows[0]!.total, actions: toListedActions(rows) };
}

/** @param cursor  null: the first page */
export async function readPageAfter(
  tx: Tx,
  merchantId: string,
  listing: ActionListing,
  cursor: Cursor | null,
  total: number,
  limit: number,
) {
  const text = buildListingSql(merchantId, listing);
  return toListedActions(
    await readPage(tx, cursor === null ? "known" : "next", text, cursor, `${text.parameter(total)}::int8`, limit),
  );
}

async function readPage(
  tx: Tx,
  kind: "first" | "known" | "next",
  listing: ListingSql,
  cursor: Cursor | null,
  total: string,
  limit: number,
) {
  const rowLimit = PAGE_LIMITS.find((step) => step >= limit) ?? limit;
  // `offset 0`: while there are few rows, reading all looks cheaper.
  const text = `with counted as materialized (
     select ${total} as total
   ), page as materialized (
     ${candidatesSql(listing, cursor, "(select total from counted)", rowLimit)}
   )
   select counted.total, found.*
   from counted
   left join (
     select r.*, page.at, to_char(page.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "cursorAt"
     from page
     cross join lateral (
       select ${SELECTED}
       from recovery_actions where merchant_id = $1 and id = page.id offset 0
     ) r
   ) found on true
   ${listing.orderClause("found.at")}`;
  // Two owners are rare, and every connection keeps its statements.
  const name = listing.owners.length > 1 || listing.name === "" ? "" : `list_${kind}_${listing.name}_${rowLimit}`;
  // An owner's best index depends on how many actions it has.
  const statement = listing.owners.length > 0 ? prepared(name, text) : preparedGeneric(name, text);
  const found = (await tx.run<PageRow>(statement, listing.values)).rows;
  return found.slice(0, limit);
}

/** Rounded up: every connection keeps a plan (up to 200 kB) for each. */
const PAGE_LIMITS = [51, 101, 1_000];

/** For an empty page, only the total. */
type PageRow = { total: number } & (ListedAction | { id: null });

function toListedActions(rows: readonly PageRow[]): ListedAction[] {
  const actions = rows.filter((row): row is PageRow & ListedAction => row.id !== null);
  for (const action of actions)
    for (const name of TIME_FIELDS) {
      const at = action[name];
      if (at !== null) action[name] = toIsoText(at);
    }
  return actions;
}

/** From "2026-03-02 07:12:00.1234", cut to milliseconds. */
const toIsoText = (text: string) => `${text.slice(0, 10)}T${text.slice(11, 19)}.${text.slice(20, 23).padEnd(3, "0")}Z`;
