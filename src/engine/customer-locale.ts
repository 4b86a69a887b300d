import type { DecisionFacts } from "./decision-facts.ts";
import { findZone, type Zone } from "./local-time.ts";

/** The most populous zone of countries with several. Intl knows the only zone of all others, but has old names for IN and VN. */
const ZONE_BY_COUNTRY: Readonly<Record<string, string>> = {
  AR: "America/Argentina/Buenos_Aires",
  AU: "Australia/Sydney",
  BR: "America/Sao_Paulo",
  CA: "America/Toronto",
  CD: "Africa/Kinshasa",
  CL: "America/Santiago",
  CN: "Asia/Shanghai",
  CY: "Asia/Nicosia",
  DE: "Europe/Berlin",
  EC: "America/Guayaquil",
  ES: "Europe/Madrid",
  ID: "Asia/Jakarta",
  IN: "Asia/Kolkata",
  KZ: "Asia/Almaty",
  MN: "Asia/Ulaanbaatar",
  MX: "America/Mexico_City",
  MY: "Asia/Kuala_Lumpur",
  NZ: "Pacific/Auckland",
  PT: "Europe/Lisbon",
  RU: "Europe/Moscow",
  UA: "Europe/Kyiv",
  US: "America/New_York",
  UY: "America/Montevideo",
  UZ: "Asia/Tashkent",
  VN: "Asia/Ho_Chi_Minh",
};

/** Each belongs to one country, whose code is its first two letters. USD and EUR belong to several countries. */
const NATIONAL_CURRENCIES: ReadonlySet<string> = new Set(
  `AED ARS AUD BDT BGN BRL CAD CHF CLP CNY COP CZK DKK EGP GBP HKD HUF IDR ILS INR ISK JPY KES
    KRW MXN MYR NGN NOK NZD PEN PHP PKR PLN RON RSD SAR SEK SGD THB TRY TWD UAH UYU VND ZAR`.split(/\s+/),
);

export interface CustomerLocale {
  zone: Zone;
  /** ISO 3166 alpha-2. */
  country: string | null;
}

/** As reported, else by card country, else by currency, else UTC. */
export function findCustomerLocale(
  facts: Pick<DecisionFacts, "customerTimezone" | "cardCountry" | "currency">,
): CustomerLocale {
  const currency = facts.currency.toUpperCase();
  const country = facts.cardCountry ?? (NATIONAL_CURRENCIES.has(currency) ? currency.slice(0, 2) : null);
  const namedZone = facts.customerTimezone === null ? null : findZone(facts.customerTimezone);
  const usualZone = country === null ? null : (ZONE_BY_COUNTRY[country] ?? findOnlyZone(country));
  return { zone: namedZone ?? findZone(usualZone ?? "UTC")!, country };
}

const onlyZoneByCountry = new Map<string, string | null>();

function findOnlyZone(country: string): string | null {
  if (!/^[A-Z]{2}$/.test(country)) return null;
  let zone = onlyZoneByCountry.get(country);
  if (zone === undefined) {
    // Node 22 has only the property.
    const locale: Intl.Locale & { timeZones?: string[] } = new Intl.Locale(`und-${country}`);
    const zones = (locale.getTimeZones ? locale.getTimeZones() : locale.timeZones) ?? [];
    zone = zones.length === 1 ? zones[0]! : null;
    onlyZoneByCountry.set(country, zone);
  }
  return zone;
}
