import assert from "node:assert/strict";
import { test } from "node:test";
import { findCustomerLocale } from "./customer-locale.ts";

const LETTERS = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"];
const COUNTRY_CODES = LETTERS.flatMap((first) => LETTERS.map((second) => first + second));
const findLocale = (cardCountry: string | null, currency = "XXX", customerTimezone: string | null = null) =>
  findCustomerLocale({ cardCountry, currency, customerTimezone });

// First, because zones that were found are kept.
test("a country's only time zone is also found where Intl lists zones as a property, as in Node 22", () => {
  const { prototype } = Intl.Locale;
  const method = Object.getOwnPropertyDescriptor(prototype, "getTimeZones");
  if (method) {
    Reflect.deleteProperty(prototype, "getTimeZones");
    Object.defineProperty(prototype, "timeZones", { configurable: true, get: method.value });
  }
  try {
    assert.equal(findLocale("TT").zone.name, "America/Port_of_Spain");
  } finally {
    if (method) {
      Reflect.deleteProperty(prototype, "timeZones");
      Object.defineProperty(prototype, "getTimeZones", method);
    }
  }
});

test("a country's time zone is one of its own, in any spelling of its code", () => {
  const found: string[] = [];
  for (const code of COUNTRY_CODES) {
    const { name } = findLocale(code).zone;
    if (name === "UTC") continue;
    const locale: Intl.Locale & { timeZones?: string[] } = new Intl.Locale(`und-${code}`);
    const own = locale.getTimeZones?.() ?? locale.timeZones ?? [];
    // Intl may report an older alias of a zone.
    const sameAs = (zone: string) => new Intl.DateTimeFormat("en", { timeZone: zone }).resolvedOptions().timeZone;
    assert.ok(own.map(sameAs).includes(sameAs(name)), `${code}: ${name}, not one of ${own}`);
    found.push(code);
  }
  for (const code of [
    "AE",
    "AR",
    "AU",
    "BR",
    "CA",
    "CL",
    "CN",
    "DE",
    "ID",
    "MX",
    "NZ",
    "PT",
    "RU",
    "UA",
    "US",
    "UY",
    "UZ",
    "VN",
    "ZA",
  ])
    assert.ok(found.includes(code), code);
});

test("a currency implies the country that its code begins with, or none", () => {
  const countries = new Map(
    Intl.supportedValuesOf("currency").flatMap((currency) => {
      const { country } = findLocale(null, currency);
      return country === null ? [] : [[currency, country] as const];
    }),
  );
  for (const [currency, country] of countries) assert.equal(country, currency.slice(0, 2), currency);
  for (const currency of [
    "AED",
    "ARS",
    "AUD",
    "BRL",
    "CAD",
    "CHF",
    "GBP",
    "INR",
    "JPY",
    "MXN",
    "PLN",
    "SEK",
    "TRY",
    "ZAR",
  ])
    assert.ok(countries.has(currency), currency);
  // Used in many countries.
  for (const currency of ["EUR", "USD", "XAF", "XOF"]) assert.ok(!countries.has(currency), currency);
});

test("the customer's reported country takes precedence over the card's, and that over the currency's", () => {
  const names = [
    findLocale("DE", "JPY", "America/New_York"),
    findLocale("DE", "JPY"),
    findLocale(null, "JPY"),
    findLocale(null, "EUR"),
  ].map(({ zone, country }) => [zone.name, country]);
  assert.deepEqual(names, [
    ["America/New_York", "DE"],
    ["Europe/Berlin", "DE"],
    ["Asia/Tokyo", "JP"],
    ["UTC", null],
  ]);
});
