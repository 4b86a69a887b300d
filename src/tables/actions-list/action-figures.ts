import type { ActionStatus } from "../../domain/recovery-action.ts";
import { prepared, type Tx } from "../../postgres/database.ts";
import { statusOfCode } from "./action-facets.ts";
import { type ActionListing, buildListingSql } from "./action-listing.ts";
import { statusCountsSql, sumsSql } from "./action-total.ts";

/** Statuses with actions, whatever status the listing asks for. */
export async function countByStatus(tx: Tx, merchantId: string, listing: ActionListing) {
  const { status: _, ...filters } = listing.filters;
  const text = buildListingSql(merchantId, { ...listing, filters });
  const { rows } = await tx.run<{ code: string; actions: number }>(prepared("", statusCountsSql(text)), text.values);
  return new Map<ActionStatus, number>(
    rows.filter(({ actions }) => actions > 0).map(({ code, actions }) => [statusOfCode(code), actions]),
  );
}

/** Minor units, as text because sums may exceed a number. */
export interface CurrencySum {
  currency: string;
  amount: string;
}

/** By currency. Reads every action of the list. */
export async function sumActions(tx: Tx, merchantId: string, listing: ActionListing) {
  const text = buildListingSql(merchantId, listing);
  return (await tx.run<CurrencySum>(prepared("", sumsSql(text)), text.values)).rows;
}
