import type { Ports } from "../../domain/ports.ts";
import {
  isCurrencyCode,
  parseRate,
  RATE_RULE,
  type ReportingChoice,
  saveReportingChoice,
} from "../../merchants/reporting-currency.ts";
import { writeAuditEntry } from "../../tables/audit-log.ts";
import { lockMerchant } from "../../tables/merchants.ts";
import { listCaseCurrencies } from "../../tables/recovery-sums.ts";
import { type ReportingRates, readReportingRates } from "../../tables/reporting-rates.ts";
import { type Html, html } from "../html.ts";
import { PageError } from "../page-error.ts";
import { formField, hiddenFields, selectField } from "../show/form-fields.ts";
import { card } from "../show/parts.ts";
import { timeElement } from "../show/time-format.ts";
import type { Visit } from "../visit.ts";
import { CHANGED_MESSAGE } from "./own-merchant.ts";
import type { FieldProblems } from "./recovery-setting-fields.ts";

const YEAR_MS = 366 * 86_400_000;
const NONE = "none";

export interface Reporting {
  saved: ReportingRates | null;
  /** Currencies that need a rate: the merchant has cases in them. */
  needed: readonly string[];
}

/** A form that cannot be saved, with each field's problem. */
export interface ReportingForm {
  form: URLSearchParams;
  problems: FieldProblems;
}

export async function loadReporting({ db, merchantId }: Visit, now: Date): Promise<Reporting> {
  const [saved, needed] = await Promise.all([
    readReportingRates(db, merchantId),
    listCaseCurrencies(db, merchantId, new Date(now.getTime() - YEAR_MS)),
  ]);
  return { saved, needed };
}

const reportingVersionOf = (merchantId: string, saved: ReportingChoice | null) =>
  [merchantId, saved?.currency ?? NONE, ...[...(saved?.rates ?? [])].flat()].join(" ");

/** Currencies with a field: the cases' own, and those with a rate. */
const listedCurrencies = ({ saved, needed }: Reporting): string[] =>
  [...new Set([...needed, ...(saved ? [saved.currency, ...saved.rates.keys()] : [])])].sort();

export function readReportingForm(
  form: URLSearchParams,
  reporting: Reporting,
): { choice: ReportingChoice | null } | ReportingForm {
  const text = (name: string) => (form.get(name) ?? "").trim();
  const currency = text("otherReport") === "" ? text("report") : text("otherReport").toUpperCase();
  if (currency === NONE) return { choice: null };
  const problems = new Map<string, string>();
  if (!isCurrencyCode(currency)) {
    problems.set("otherReport", "Enter a currency code with three letters, such as EUR, or choose one above.");
    return { form, problems };
  }
  const rates = new Map<string, string>();
  // The form's rates are to the currency that it was shown with, or to the first one that is chosen.
  const shownWith = text("to");
  const isOutdated = shownWith !== NONE && shownWith !== currency;
  for (const each of listedCurrencies(reporting).filter((each) => each !== currency)) {
    const given = isOutdated ? "" : text(`rate${each}`);
    const rate = parseRate(given);
    if (rate !== null) rates.set(each, rate);
    else if (given !== "") problems.set(`rate${each}`, `Enter ${RATE_RULE}.`);
    else if (isOutdated || reporting.needed.includes(each))
      problems.set(`rate${each}`, `Enter how many ${currency} one ${each} is.`);
  }
  const own = parseRate(text(`rate${currency}`)) ?? text(`rate${currency}`);
  if (!isOutdated && own !== "" && own !== "1")
    problems.set(
      "report",
      `You typed a rate for ${currency} itself. Amounts in ${currency} are not converted: save without it.`,
    );
  readOtherRate(text("otherCurrency").toUpperCase(), text("otherRate"), currency, rates, problems);
  return problems.size === 0
    ? { choice: { currency, rates } }
    : { form: withCurrency(form, currency, isOutdated), problems };
}

/** The form as it is shown again, with fields for the rates to `currency`. */
function withCurrency(form: URLSearchParams, currency: string, isOutdated: boolean): URLSearchParams {
  const next = new URLSearchParams(form);
  if (isOutdated) for (const name of form.keys()) if (name.startsWith("rate")) next.delete(name);
  next.set("report", currency);
  next.delete("otherReport");
  return next;
}

function readOtherRate(
  other: string,
  text: string,
  currency: string,
  rates: Map<string, string>,
  problems: Map<string, string>,
) {
  if (other === "" && text === "") return;
  if (!isCurrencyCode(other) || other === currency || rates.has(other))
    problems.set("otherCurrency", "Enter a currency code with three letters that is not listed here yet.");
  const rate = parseRate(text);
  if (rate === null) problems.set("otherRate", `Enter ${RATE_RULE}.`);
  else rates.set(other, rate);
}

export async function saveReportingForm(
  { db, merchantId, form, actor }: Visit,
  choice: ReportingChoice | null,
  ports: Ports,
) {
  await db.transaction(async (tx) => {
    const merchant = await lockMerchant(tx, merchantId);
    const before = await readReportingRates(tx, merchantId);
    if (!merchant || form.get("was") !== reportingVersionOf(merchantId, before))
      throw new PageError(409, CHANGED_MESSAGE);
    const details = await saveReportingChoice(tx, merchantId, choice, ports);
    if (Object.keys(details).length > 0)
      await writeAuditEntry(
        tx,
        merchantId,
        actor,
        { operation: "merchant.changed", object: merchant.name, details },
        ports,
      );
  });
}

/** @param refused  a form that was not saved */
export function reportingCard(
  reporting: Reporting,
  refused: ReportingForm | null,
  { merchantId, person }: Visit,
): Html {
  const { saved } = reporting;
  const typed = (name: string, fallback: string) => refused?.form.get(name) ?? fallback;
  const problem = (name: string) => refused?.problems.get(name);
  const report = typed("report", saved?.currency ?? NONE);
  const currencies = listedCurrencies(reporting);
  const choices = report === NONE || currencies.includes(report) ? currencies : [...currencies, report];
  const rates = currencies
    .filter((each) => each !== report)
    .map((each) =>
      formField({
        label: `1 ${each} =`,
        name: `rate${each}`,
        value: typed(`rate${each}`, refused ? "" : (saved?.rates.get(each) ?? "")),
        maxlength: 20,
        problem: problem(`rate${each}`),
      }),
    );
  const small = (label: string, name: string, placeholder: string, maxlength: number) =>
    formField({ label, name, value: typed(name, ""), maxlength, placeholder, problem: problem(name) });
  const isMoreOpen = ["otherReport", "otherCurrency", "otherRate"].some((name) => problem(name));
  return card(
    {
      title: "Reporting currency",
      side: saved?.setAt ? html`since ${timeElement(saved.setAt, person.zone)}` : null,
      foot: "The console adds amounts of several currencies only at your rates, and marks such sums with ≈. Rates are exact decimal numbers.",
    },
    html`<form method="post" action="/settings/recovery/currency" class="in field gap">${hiddenFields({ was: typed("was", reportingVersionOf(merchantId, saved)), to: report })}
<div class="form half">${selectField("Report in", "report", [[NONE, NONE], ...choices.map((each) => [each, each] as const)], report, { problem: problem("report") })}${rates}</div>
<details class="more"${isMoreOpen && html` open`}><summary>Another currency</summary><div class="form half">${small("Report in", "otherReport", "CHF", 3)}</div><div class="form half">${small("Rate for", "otherCurrency", "SEK", 3)}${small("1 unit =", "otherRate", "0.0884", 20)}</div></details>
<p><button>Save</button></p></form>`,
  );
}
