import { isCurrencyCode, parseRate, RATE_RULE, type ReportingChoice } from "../merchants/reporting-currency.ts";
import type { ReportingRates } from "../tables/reporting-rates.ts";
import { CommandFailure, type CommandOptions, type OptionValues, textOption, UsageError } from "./command.ts";

export const REPORTING_OPTIONS: CommandOptions = {
  "report-in": { type: "string" },
  rate: { type: "string", multiple: true },
};

export const REPORTING_USAGE = `
  --report-in CUR|none     currency in which the console adds amounts of all currencies (none)
  --rate CUR=N|off         how many units of that currency one CUR is, such as GBP=1.17; once for each currency`;

/** The changes that a command asks for. */
export interface ReportingChange {
  /** Undefined: the same as before; null: none. */
  currency: string | null | undefined;
  /** Null: no rate any more. */
  rates: ReadonlyMap<string, string | null>;
}

/** Null if there are none. */
export function parseReportingChange(values: OptionValues): ReportingChange | null {
  const reportIn = textOption(values, "report-in");
  const given = values.rate === undefined ? [] : [values.rate].flat().map(String);
  if (reportIn === undefined && given.length === 0) return null;
  if (reportIn !== undefined && reportIn !== "none" && !isCurrencyCode(reportIn))
    throw new UsageError(`--report-in takes a currency such as EUR, or none, not "${reportIn}".`);
  if (reportIn === "none" && given.length > 0) throw new UsageError("--rate needs a currency in --report-in.");
  const rates = new Map(given.map(parseRateOption));
  if (rates.size < given.length) throw new UsageError("Give --rate once for each currency.");
  if (reportIn !== undefined && rates.has(reportIn))
    throw new UsageError(`--rate ${reportIn}: ${reportIn} is the currency of the reports, so it needs no rate.`);
  return { currency: reportIn === "none" ? null : reportIn, rates };
}

function parseRateOption(text: string): [currency: string, rate: string | null] {
  const [currency = "", value = "", ...more] = text.split("=");
  const rate = value === "off" ? null : parseRate(value);
  if (!isCurrencyCode(currency) || more.length > 0 || (rate === null && value !== "off"))
    throw new UsageError(`--rate takes a currency and ${RATE_RULE}: GBP=1.17, not "${text}".`);
  return [currency, rate];
}

/** Rates that the command does not name stay, unless the currency of the reports changes. */
export function applyReportingChange(
  before: ReportingRates | null,
  { currency = before?.currency, rates }: ReportingChange,
): ReportingChoice | null {
  if (currency === null) return null;
  if (currency === undefined)
    throw new CommandFailure("A rate needs a currency of the reports. Name it with --report-in.");
  if (rates.has(currency)) throw new CommandFailure(`${currency} is the currency of the reports, so it needs no rate.`);
  const after = new Map(before?.currency === currency ? before.rates : []);
  for (const [name, rate] of rates)
    if (rate === null) after.delete(name);
    else after.set(name, rate);
  return { currency, rates: after };
}

export const describeReporting = (reporting: ReportingChoice | null): string =>
  reporting === null
    ? "none"
    : [reporting.currency, ...[...reporting.rates].map(([currency, rate]) => `${currency}=${rate}`)].join(" ");
