import type { DecisionFacts } from "./decision-facts.ts";
import { findZone, type Zone } from "./local-time.ts";

/** The most populous zone; Intl knows countries with one zone. */
const ZONE_BY_COUNTRY: Readonly<Record<string, string>> = {
  AE: "Asia/Dubai",
  AR: "America/Argentina/Buenos_Aires",
  AT: "Europe/Vienna",
  AU: "Australia/Sydney",
  BD: "Asia/Dhaka",
  BE: "Europe/Brussels",
  BG: "Europe/Sofia",
  BR: "America/Sao_Paulo",
  CA: "America/Toronto",
  CD: "Africa/Kinshasa",
  CH: "Europe/Zurich",
  CL: "America/Santiago",
  CN: "Asia/Shanghai",
  CO: "America/Bogota",
  CR: "America/Costa_Rica",
  CY: "Asia/Nicosia",
  CZ: "Europe/Prague",
  DE: "Europe/Berlin",
  DK: "Europe/Copenhagen",
  EC: "America/Guayaquil",
  EE: "Europe/Tallinn",
  EG: "Africa/Cairo",
  ES: "Europe/Madrid",
  FI: "Europe/Helsinki",
  FR: "Europe/Paris",
  GB: "Europe/London",
  GR: "Europe/Athens",
  HK: "Asia/Hong_Kong",
  HR: "Europe/Zagreb",
  HU: "Europe/Budapest",
  ID: "Asia/Jakarta",
  IE: "Europe/Dublin",
  IL: "Asia/Jerusalem",
  IN: "Asia/Kolkata",
  IS: "Atlantic/Reykjavik",
  IT: "Europe/Rome",
  JP: "Asia/Tokyo",
  KE: "Africa/Nairobi",
  KR: "Asia/Seoul",
  KZ: "Asia/Almaty",
  LT: "Europe/Vilnius",
  LU: "Europe/Luxembourg",
  LV: "Europe/Riga",
  MA: "Africa/Casablanca",
  MN: "Asia/Ulaanbaatar",
  MT: "Europe/Malta",
  MX: "America/Mexico_City",
  MY: "Asia/Kuala_Lumpur",
  NG: "Africa/Lagos",
  NL: "Europe/Amsterdam",
  NO: "Europe/Oslo",
  NZ: "Pacific/Auckland",
  PE: "America/Lima",
  PH: "Asia/Manila",
  PK: "Asia/Karachi",
  PL: "Europe/Warsaw",
  PT: "Europe/Lisbon",
  RO: "Europe/Bucharest",
  RS: "Europe/Belgrade",
  RU: "Europe/Moscow",
  SA: "Asia/Riyadh",
  SE: "Europe/Stockholm",
  SG: "Asia/Singapore",
  SI: "Europe/Ljubljana",
  SK: "Europe/Bratislava",
  TH: "Asia/Bangkok",
  TR: "Europe/Istanbul",
  TW: "Asia/Taipei",
  UA: "Europe/Kyiv",
  US: "America/New_York",
  UY: "America/Montevideo",
  UZ: "Asia/Tashkent",
  VN: "Asia/Ho_Chi_Minh",
  ZA: "Africa/Johannesburg",
};

/** USD and EUR name no country. */
const COUNTRY_BY_CURRENCY: Readonly<Record<string, string>> = {
  AED: "AE",
  ARS: "AR",
  AUD: "AU",
  BDT: "BD",
  BGN: "BG",
  BRL: "BR",
  CAD: "CA",
  CHF: "CH",
  CLP: "CL",
  CNY: "CN",
  COP: "CO",
  CZK: "CZ",
  DKK: "DK",
  EGP: "EG",
  GBP: "GB",
  HKD: "HK",
  HUF: "HU",
  IDR: "ID",
  ILS: "IL",
  INR: "IN",
  ISK: "IS",
  JPY: "JP",
  KES: "KE",
  KRW: "KR",
  MXN: "MX",
  MYR: "MY",
  NGN: "NG",
  NOK: "NO",
  NZD: "NZ",
  PEN: "PE",
  PHP: "PH",
  PKR: "PK",
  PLN: "PL",
  RON: "RO",
  RSD: "RS",
  SAR: "SA",
  SEK: "SE",
  SGD: "SG",
  THB: "TH",
  TRY: "TR",
  TWD: "TW",
  UAH: "UA",
  UYU: "UY",
  VND: "VN",
  ZAR: "ZA",
};

export interface CustomerLocale {
  zone: Zone;
  /** ISO 3166 alpha-2. */
  country: string | null;
}

/** As reported, else by card country, else by currency, else UTC. */
export function findCustomerLocale(
  facts: Pick<DecisionFacts, "customerTimezone" | "cardCountry" | "currency">,
): CustomerLocale {
  const country = facts.cardCountry ?? COUNTRY_BY_CURRENCY[facts.currency.toUpperCase()] ?? null;
  const namedZone = facts.customerTimezone === null ? null : findZone(facts.customerTimezone);
  const usualZone = country === null ? null : (ZONE_BY_COUNTRY[country] ?? findOnlyZone(country));
  return { zone: namedZone ?? findZone(usualZone ?? "UTC")!, country };
}

const onlyZoneByCountry = new Map<string, string | null>();

function findOnlyZone(country: string): string | null {
  if (!/^[A-Z]{2}$/.test(country)) return null;
  let zone = onlyZoneByCountry.get(country);
  if (zone === undefined) {
    const zones = new Intl.Locale(`und-${country}`).getTimeZones() ?? [];
    zone = zones.length === 1 ? zones[0]! : null;
    onlyZoneByCountry.set(country, zone);
  }
  return zone;
}
