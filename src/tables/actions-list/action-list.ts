import type { RecoveryAction } from "../../domain/recovery-action.ts";
import { prepared, preparedGeneric, type Tx } from "../../postgres/database.ts";
import { candidatesSql } from "./action-candidates.ts";
import { type ActionListing, buildListingSql, type Cursor, type ListingSql } from "./action-listing.ts";
import { totalSql } from "./action-total.ts";

const TIME_FIELDS = ["idealRetryTime", "executedAt", "attemptedAt", "createdAt", "updatedAt"] as const;
type TimeField = (typeof TIME_FIELDS)[number];

/** An action as it is listed, its moments as they are shown (`2026-03-02T07:12:00.123Z`), and the cursor that stands on it. */
export type ListedAction = Omit<RecoveryAction, "caseId" | "decidedAt" | TimeField> & {
  [name in TimeField]: null extends RecoveryAction[name] ? string | null : string;
} & { cursorAt: string };

/** A moment as text: a list that made a Date of each, and text of that, took half a millisecond more for a page of 100. */
const timeTextSql = (column: string) => `(${column} at time zone 'UTC')::text`;

const SELECTED = `id, invoice_id as "invoiceId", subscription_id as "subscriptionId", customer_id as "customerId",
  transaction_id as "transactionId", payment_method_type as "paymentMethodType", card_country as "cardCountry", currency, amount_due as "amountDue", type, status,
  integration_type as "integrationType", action_suggestion as "actionSuggestion", reasons, ${timeTextSql("ideal_retry_time")} as "idealRetryTime",
  ${timeTextSql("executed_at")} as "executedAt", ${timeTextSql("attempted_at")} as "attemptedAt", ${timeTextSql("created_at")} as "createdAt",
  ${timeTextSql("updated_at")} as "updatedAt"`;

/**
 * The first page and the number of rows on all pages, as of one moment.
 *
 * @param limit  rows to return at most; ask for one more than the page to learn whether there is another
 */
export async function readFirstPage(tx: Tx, merchantId: string, listing: ActionListing, limit: number) {
  const text = buildListingSql(merchantId, listing);
  const rows = await readPage(tx, "first", text, null, totalSql(text), limit);
  return { total: rows[0]!.total, actions: toListedActions(rows) };
}

/**
 * The rows that come after `cursor` in the order of the listing.
 *
 * @param total  as the first page said
 */
export async function readPageAfter(
  tx: Tx,
  merchantId: string,
  listing: ActionListing,
  cursor: Cursor,
  total: number,
  limit: number,
) {
  const text = buildListingSql(merchantId, listing);
  return toListedActions(await readPage(tx, "next", text, cursor, `${text.value(total)}::int8`, limit));
}

async function readPage(
  tx: Tx,
  kind: "first" | "next",
  listing: ListingSql,
  cursor: Cursor | null,
  total: string,
  limit: number,
) {
  const rows = PAGE_LIMITS.find((step) => step >= limit) ?? limit;
  const page = candidatesSql(listing, cursor, "(select total from counted)", rows);
  // "offset 0" keeps the rows of a page from being found by reading all rows there are, which looks cheaper where those are few.
  const text = `with counted as materialized (select ${total} as total), page as materialized (${page})
    select counted.total, found.* from counted left join (
      select r.*, page.at, to_char(page.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "cursorAt"
      from page cross join lateral (select ${SELECTED} from recovery_actions where merchant_id = $1 and id = page.id offset 0) r
    ) found on true ${listing.sorted("found.at")}`;
  // Every connection keeps each statement that it has prepared: what asks for two owners at once is parsed each time.
  const name = listing.owners.length > 1 ? "" : `list_${kind}_${listing.name}_${rows}`;
  // Which index suits an owner goes by how much the owner has, so that is looked for anew.
  const statement = listing.owners.length > 0 ? prepared(name, text) : preparedGeneric(name, text);
  const found = (await tx.run<PageRow>(statement, listing.values)).rows;
  return found.slice(0, limit);
}

/** So many rows are asked for, or more: every connection keeps a plan for each number of them, of up to 200 kB. */
const PAGE_LIMITS = [51, 101, 1_000];

/** A row of a page, with the total; where the page is empty, the total alone. */
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

/** "2026-03-02 07:12:00.1234" as JSON writes the moment: microseconds are cut off. */
const toIsoText = (text: string) => `${text.slice(0, 10)}T${text.slice(11, 19)}.${text.slice(20, 23).padEnd(3, "0")}Z`;
