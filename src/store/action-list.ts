import type { RecoveryAction } from "../domain/recovery-action.ts";
import { candidates } from "./action-candidates.ts";
import { type ActionListing, type Cursor, type ListingText, listingText } from "./action-listing.ts";
import { totalText } from "./action-total.ts";
import { prepared, type Tx } from "./database.ts";

/** An action as it is listed, and the cursor that stands on it. */
export type ListedAction = Omit<RecoveryAction, "caseId" | "decidedAt"> & { cursorAt: string };

const SELECTED = `r.id, invoice_id as "invoiceId", subscription_id as "subscriptionId", customer_id as "customerId",
  transaction_id as "transactionId", payment_method_type as "paymentMethodType", card_country as "cardCountry", currency, type, status,
  integration_type as "integrationType", action_suggestion as "actionSuggestion", ideal_retry_time as "idealRetryTime", reasons,
  executed_at as "executedAt", attempted_at as "attemptedAt", created_at as "createdAt", updated_at as "updatedAt"`;

/**
 * The first page and the number of rows on all pages, as of one moment.
 *
 * @param limit  rows to return at most; ask for one more than the page to learn whether there is another
 */
export async function firstActions(tx: Tx, merchantId: string, listing: ActionListing, limit: number) {
  const text = listingText(merchantId, listing);
  const rows = await read(tx, "first", text, null, totalText(text), limit);
  return { total: rows[0]!.total, actions: rows.filter((row) => row.id !== null) as ListedAction[] };
}

/**
 * The rows that come after `cursor` in the order of the listing.
 *
 * @param total  as the first page said
 */
export async function actionsAfter(
  tx: Tx,
  merchantId: string,
  listing: ActionListing,
  cursor: Cursor,
  total: number,
  limit: number,
) {
  const text = listingText(merchantId, listing);
  const rows = await read(tx, "next", text, cursor, `${text.value(total)}::int8`, limit);
  return rows.filter((row) => row.id !== null) as ListedAction[];
}

async function read(
  tx: Tx,
  kind: "first" | "next",
  listing: ListingText,
  cursor: Cursor | null,
  total: string,
  limit: number,
) {
  const page = candidates(listing, cursor, "(select total from counted)", listing.value(limit));
  const text = `with counted as materialized (select ${total} as total), page as materialized (${page})
    select counted.total, found.* from counted left join (
      select ${SELECTED}, page.at, to_char(page.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "cursorAt"
      from page join recovery_actions r on r.merchant_id = $1 and r.id = page.id
    ) found on true ${listing.sorted("found.at")}`;
  // Every connection keeps each statement that it has prepared: what asks for two owners at once is parsed each time.
  const name = listing.owners.length > 1 ? "" : `${kind}_actions_${listing.name}`;
  return (await tx.run<ListedAction & { total: number; id: string | null }>(prepared(name, text), listing.values)).rows;
}
