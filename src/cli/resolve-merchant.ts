import type { Tx } from "../postgres/database.ts";
import { merchantsWithEvent } from "../tables/events.ts";
import { merchantsWithInvoice } from "../tables/invoices.ts";
import { findMerchant, listMerchants } from "../tables/merchants.ts";
import { CommandFailure, isUuid, type OptionValues, textOption, UsageError } from "./command.ts";

/** The merchant that is named, or the only one. */
export async function resolveMerchant(tx: Tx, values: OptionValues): Promise<string> {
  const named = textOption(values, "merchant");
  if (named !== undefined) {
    if (isUuid(named) && (await findMerchant(tx, named))) return named;
    throw new CommandFailure(`There is no merchant ${named}. "npx dunlin merchant list" shows them.`);
  }
  const [only, ...others] = await listMerchants(tx);
  if (!only) throw new CommandFailure("There is no merchant yet.");
  if (others.length > 0)
    throw new UsageError(
      'There are several merchants: say which by --merchant. "npx dunlin merchant list" shows them.',
    );
  return only.id;
}

/** The merchant that is named, or the only one with this invoice. */
export async function resolveMerchantByInvoice(tx: Tx, values: OptionValues, invoiceId: string): Promise<string> {
  if (values.merchant !== undefined) return resolveMerchant(tx, values);
  const [only, ...others] = await merchantsWithInvoice(tx, invoiceId);
  if (only === undefined) throw new CommandFailure(`There is no invoice ${invoiceId}.`);
  if (others.length > 0)
    throw new UsageError(
      `${others.length + 1} merchants have an invoice ${invoiceId}: say which by --merchant. "npx dunlin merchant list" shows them.`,
    );
  return only;
}

/** The merchant that is named, or the one whose events these are. */
export async function resolveMerchantByEvents(
  tx: Tx,
  values: OptionValues,
  eventIds: readonly string[],
): Promise<string> {
  if (values.merchant !== undefined) return resolveMerchant(tx, values);
  const owners = new Set<string>();
  for (const eventId of eventIds) {
    const merchants = isUuid(eventId) ? await merchantsWithEvent(tx, eventId) : [];
    if (merchants.length === 0)
      throw new CommandFailure(`There is no event ${eventId}. "npx dunlin delivery list" shows them.`);
    for (const merchant of merchants) owners.add(merchant);
  }
  const [only, ...others] = owners;
  if (others.length > 0)
    throw new UsageError(
      `These events are of ${others.length + 1} merchants: say which by --merchant, and name no event of another one.`,
    );
  return only!;
}
