import type { Tx } from "../store/database.ts";
import { merchantsWithEvent } from "../store/events.ts";
import { merchantsWithInvoice } from "../store/invoices.ts";
import { findMerchant, listMerchants } from "../store/merchants.ts";
import { Failure, isUuid, text, UsageError, type Values } from "./command.ts";

/** The merchant that is named, or the only one. */
export async function merchantOf(tx: Tx, values: Values): Promise<string> {
  const named = text(values, "merchant");
  if (named !== undefined) {
    if (isUuid(named) && (await findMerchant(tx, named))) return named;
    throw new Failure(`There is no merchant ${named}. "npx dunlin merchant list" shows them.`);
  }
  const [only, ...others] = await listMerchants(tx);
  if (!only) throw new Failure("There is no merchant yet.");
  if (others.length > 0)
    throw new UsageError(
      'There are several merchants: say which by --merchant. "npx dunlin merchant list" shows them.',
    );
  return only.id;
}

/** The merchant that is named, or the only one with this invoice. */
export async function merchantWithInvoice(tx: Tx, values: Values, invoiceId: string): Promise<string> {
  if (values.merchant !== undefined) return merchantOf(tx, values);
  const [only, ...others] = await merchantsWithInvoice(tx, invoiceId);
  if (only === undefined) throw new Failure(`There is no invoice ${invoiceId}.`);
  if (others.length > 0)
    throw new UsageError(
      `${others.length + 1} merchants have an invoice ${invoiceId}: say which by --merchant. "npx dunlin merchant list" shows them.`,
    );
  return only;
}

/** The merchant that is named, or the one whose events these are. */
export async function merchantWithEvents(tx: Tx, values: Values, eventIds: readonly string[]): Promise<string> {
  if (values.merchant !== undefined) return merchantOf(tx, values);
  const owners = new Set<string>();
  for (const eventId of eventIds) {
    const merchants = isUuid(eventId) ? await merchantsWithEvent(tx, eventId) : [];
    if (merchants.length === 0)
      throw new Failure(`There is no event ${eventId}. "npx dunlin delivery list" shows them.`);
    for (const merchant of merchants) owners.add(merchant);
  }
  const [only, ...others] = owners;
  if (others.length > 0)
    throw new UsageError(
      `These events are of ${others.length + 1} merchants: say which by --merchant, and name no event of another one.`,
    );
  return only!;
}
