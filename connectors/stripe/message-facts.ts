import type Stripe from "stripe";
import type { MessageFacts } from "../kit/messages/send-messages.ts";
import { idOf, type StripeAccount } from "./stripe-account.ts";

/** Currencies whose amounts Stripe counts in whole units. */
const WHOLE_UNITS = /^(bif|clp|djf|gnf|jpy|kmf|krw|mga|pyg|rwf|ugx|vnd|vuv|xaf|xof|xpf)$/;
const THREE_DECIMALS = /^(bhd|jod|kwd|omr|tnd)$/;
/** Stripe keeps two decimals for UGX, although the currency has none. */
const TWO_DECIMALS = /^ugx$/;

/**
 * Reads the facts of a mail about an invoice: the customer's address and language, and Stripe's page on which the invoice is paid or the
 * card changed. `brand` in the metadata of the invoice or its subscription chooses the brand's own texts.
 */
export async function readMessageFacts(account: StripeAccount, invoiceId: string): Promise<MessageFacts | null> {
  const facts = await account.readFacts(invoiceId);
  if (!facts) return null;
  const { invoice, subscription, charges } = facts;
  const customerId = idOf(invoice.customer);
  const customer = customerId === undefined ? null : await account.readCustomer(customerId);
  const languages = (customer?.preferred_locales ?? []).flatMap(canonicalLanguage);
  const to = invoice.customer_email ?? customer?.email ?? null;
  return {
    to,
    languages,
    brand: invoice.metadata?.brand ?? subscription?.metadata?.brand,
    isOpen: invoice.status === "open" && Boolean(invoice.hosted_invoice_url),
    name: invoice.customer_name ?? customer?.name ?? to ?? "",
    merchant: invoice.account_name ?? "",
    amount: formatAmount(invoice.amount_remaining, invoice.currency, languages[0]),
    number: invoice.number ?? invoice.id,
    card: describeMethod(charges),
    payUrl: invoice.hosted_invoice_url ?? "",
  };
}

/** Stripe takes a customer's language as it is given. Returns `de-AT` for `de_AT`, and nothing for a text that is no language. */
export function canonicalLanguage(text: string): string[] {
  try {
    return Intl.getCanonicalLocales(text.replaceAll("_", "-"));
  } catch {
    return [];
  }
}

/**
 * @param amount  as Stripe counts it
 * @param language  canonical
 */
export function formatAmount(amount: number, currency: string, language = "en"): string {
  const digits = THREE_DECIMALS.test(currency) ? 3 : WHOLE_UNITS.test(currency) && !TWO_DECIMALS.test(currency) ? 0 : 2;
  const format = new Intl.NumberFormat(language, { style: "currency", currency: currency.toUpperCase() });
  return format.format(amount / 10 ** digits);
}

const BRANDS: Readonly<Record<string, string>> = { amex: "American Express", mastercard: "Mastercard", visa: "Visa" };

/** The method that was tried last, such as `Visa …4242`; empty: not known. */
function describeMethod(charges: readonly Stripe.Charge[]): string {
  const details = charges.toSorted((a, b) => b.created - a.created)[0]?.payment_method_details;
  const { card, sepa_debit: sepa, us_bank_account: ach } = details ?? {};
  if (card) return `${BRANDS[card.brand ?? ""] ?? card.brand ?? ""} …${card.last4}`.trim();
  const last4 = sepa?.last4 ?? ach?.last4;
  return last4 ? `…${last4}` : "";
}
