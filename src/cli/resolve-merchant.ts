import type { Tx } from "../postgres/database.ts";
import { merchantsWithEvent } from "../tables/events.ts";
import { merchantsWithInvoice } from "../tables/invoices.ts";
import { findMerchant, listMerchants } from "../tables/merchants.ts";
import { CommandFailure, isUuid, type OptionValues, textOption, UsageError } from "./command.ts";

/** Of --merchant, else the only one. */
export async function resolveMerchant(tx: Tx, values: OptionValues): Promise<string> {
  const merchantId = textOption(values, "merchant");
  if (merchantId !== undefined) {
    if (isUuid(merchantId) && (await findMerchant(tx, merchantId))) return merchantId;
    throw new CommandFailure(`There is no merchant ${merchantId}. "npx dunlin merchant list" shows them.`);
  }
  const [only, ...others] = await listMerchants(tx);
  if (!only)
    throw new CommandFailure("There are no merchants yet. To create one: npx dunlin merchant create --name NAME");
  if (others.length > 0)
    throw new UsageError(
      'There are several merchants. Choose one with --merchant. "npx dunlin merchant list" shows them.',
    );
  return only.id;
}

export async function resolveMerchantByInvoice(tx: Tx, values: OptionValues, invoiceId: string): Promise<string> {
  if (values.merchant !== undefined) return resolveMerchant(tx, values);
  const [only, ...others] = await merchantsWithInvoice(tx, invoiceId);
  if (only === undefined) throw new CommandFailure(`There is no invoice ${invoiceId}.`);
  if (others.length > 0)
    throw new UsageError(
      `${others.length + 1} merchants have an invoice ${invoiceId}. Choose one with --merchant. "npx dunlin merchant list" shows them.`,
    );
  return only;
}

/** Of --merchant, else the events' owner. */
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
      `These events belong to ${others.length + 1} merchants. Choose one with --merchant, and pass only its events.`,
    );
  return only!;
}
