import { formatMajorUnits, minorDigitsOf } from "../../domain/currency.ts";
import { MINUTE_MS } from "../../domain/durations.ts";
import { type NumberedRule, WEEKDAYS } from "../../domain/recovery-rule.ts";
import {
  LEAVES_OUT_RULE,
  RULE_LIMITS,
  type RuleField,
  type RuleJson,
  type RuleProblem,
} from "../../merchants/parse-recovery-rules.ts";
import { type Html, type HtmlPart, html } from "../html.ts";
import { formField, selectField } from "../show/form-fields.ts";

const LIST_FIELDS = [
  ["planIds", "Plans"],
  ["businessEntities", "Entities"],
  ["cardCountries", "Card countries"],
  ["currencies", "Currencies"],
  ["customerIds", "Customers"],
] as const;
const INTEGER_FIELDS = [
  ["windowDays", "Window, days"],
  ["budget", "Retries"],
  ["leadMinutes", "Lead, minutes"],
] as const;
const HOUR_FIELDS = [
  ["quietFromHour", "No retries from hour"],
  ["quietToHour", "No retries until hour"],
] as const;

const LABELS: Readonly<Partial<Record<RuleField, string>>> = {
  ...Object.fromEntries([...LIST_FIELDS, ...INTEGER_FIELDS, ...HOUR_FIELDS]),
  ...{ name: "Name", amountFrom: "Amount from", amountTo: "Amount to", leaveOut: "Outcome" },
  ...{ quietWeekdays: "No retries on", quietDates: "No retries on dates" },
};

/** Names the field by its label. */
export function describeProblem({ field: path, rule }: RuleProblem): string {
  const [, field] = /^rules\[\d+\]\.(\w+)/.exec(path) ?? [];
  const isAmount = field === "amountFrom" || field === "amountTo";
  if (rule === LEAVES_OUT_RULE)
    return `${LABELS[field as RuleField] ?? "The field"} must be empty, because Dunlin leaves the invoice to your own system.`;
  // The form takes amounts in major units.
  const wording =
    isAmount && rule.startsWith("must be an integer") ? "must be an amount such as 500 or 499.50" : inFormWords(rule);
  return `${LABELS[field as RuleField] ?? "The rule"} ${wording}.`;
}

/** Rules name other fields as the API does. */
const inFormWords = (rule: string) =>
  rule.replace(/\b(amountFrom|quietFromHour)\b/, (name) => `“${LABELS[name as RuleField]}”`);

/** Form fields with a rule's values. */
export function formOfRule({ id, number, name, conditions, leaveOut, ...rest }: NumberedRule): URLSearchParams {
  const { windowDays, budget, leadMs, quiet } = rest;
  const form = new URLSearchParams({ id, position: String(number), name, outcome: leaveOut ? "leaveOut" : "recover" });
  for (const [field] of LIST_FIELDS) form.set(field, conditions[field]?.join(", ") ?? "");
  for (const field of ["amountFrom", "amountTo"] as const)
    if (conditions[field] !== undefined)
      form.set(field, formatMajorUnits(conditions[field], conditions.currencies![0]!));
  if (windowDays !== null) form.set("windowDays", String(windowDays));
  if (budget !== null) form.set("budget", String(budget));
  if (leadMs !== null) form.set("leadMinutes", String(leadMs / MINUTE_MS));
  for (const day of quiet?.weekdays ?? []) form.append("quietWeekdays", day);
  form.set("quietDates", quiet?.dates.join(", ") ?? "");
  if (quiet?.hours) {
    form.set("quietFromHour", String(quiet.hours.from));
    form.set("quietToHour", String(quiet.hours.to));
  }
  return form;
}

/** The rule in a form, not checked yet: a field that is no number stays text, and the check refuses it. */
export function ruleOfForm(form: URLSearchParams): RuleJson {
  const listOf = (field: string) => {
    const values = (form.get(field) ?? "").split(",").map((value) => value.trim());
    return values.some((value) => value !== "") ? values.filter((value) => value !== "") : null;
  };
  const integerOf = (field: string) => toInteger(form.get(field)?.trim() ?? "");
  const currencies = listOf("currencies")?.map((code) => code.toUpperCase()) ?? null;
  const amountOf = (field: string) => toMinorUnits(form.get(field)?.trim() ?? "", currencies?.[0] ?? "");
  const weekdays = form.getAll("quietWeekdays");
  return {
    ...{ id: form.get("id"), name: form.get("name")?.trim(), leaveOut: form.get("outcome") === "leaveOut" },
    ...{ planIds: listOf("planIds"), businessEntities: listOf("businessEntities"), customerIds: listOf("customerIds") },
    ...{ cardCountries: listOf("cardCountries")?.map((code) => code.toUpperCase()) ?? null, currencies },
    ...{ amountFrom: amountOf("amountFrom"), amountTo: amountOf("amountTo") },
    ...Object.fromEntries([...INTEGER_FIELDS, ...HOUR_FIELDS].map(([field]) => [field, integerOf(field)])),
    ...{ quietWeekdays: weekdays.length > 0 ? weekdays : null, quietDates: listOf("quietDates") },
  };
}

const toInteger = (text: string) => (/^\d{1,9}$/.test(text) ? Number(text) : text);

function toMinorUnits(text: string, currency: string): number | string {
  const digits = minorDigitsOf(currency);
  const [, whole, fraction = ""] = /^(\d{1,12})(?:\.(\d+))?$/.exec(text) ?? [];
  return whole === undefined || fraction.length > digits ? text : Number(whole + fraction.padEnd(digits, "0"));
}

/** @param lastPosition  that the rule can take */
export function ruleFields(form: URLSearchParams, lastPosition: number): Html {
  const field = (label: string, name: string, hint?: HtmlPart, placeholder = "any") =>
    formField({ label, name, value: form.get(name) ?? "", hint, placeholder, maxlength: 20_000 });
  const positions = Array.from({ length: lastPosition }, (_, index) => String(index + 1));
  return html`
<div class="rule-name">${formField({ label: "Name", name: "name", value: form.get("name") ?? "", required: true, maxlength: RULE_LIMITS.nameChars })}
${selectField(
  "Position",
  "position",
  positions.map((number) => [number, number] as const),
  form.get("position") ?? "",
)}</div>
<fieldset><legend>If all of these hold</legend>
${LIST_FIELDS.map(([name, label]) => field(label, name, LIST_HINTS[name]))}
${field("Amount from", "amountFrom", "Of the whole invoice, such as 500 or 499.50. It needs exactly one currency.")}
${field("Amount to", "amountTo")}
</fieldset>
<fieldset><legend>Then</legend>
${selectField(
  "Outcome",
  "outcome",
  [
    ["recover", "Dunlin recovers the invoice"],
    ["leaveOut", "Dunlin leaves the invoice to your own system"],
  ],
  form.get("outcome") ?? "recover",
)}
${INTEGER_FIELDS.map(([name, label]) => field(label, name, undefined, "as in the settings"))}
<fieldset class="days"><legend>No retries on</legend>
${MONDAY_FIRST.map((day) => html`<label class="check"><input type="checkbox" name="quietWeekdays" value="${day}"${form.getAll("quietWeekdays").includes(day) ? html` checked` : ""}> <span>${capitalize(day)}</span></label>`)}
</fieldset>
${field("No retries on dates", "quietDates", "Such as 12-25, 12-24..01-01 each year, or 2026-12-24..2027-01-01 once. Separate several by commas.", "none")}
${HOUR_FIELDS.map(([name, label]) => field(label, name, "On the customer's clock, 0 to 23.", "none"))}
</fieldset>`;
}

const MONDAY_FIRST = [...WEEKDAYS.slice(1), WEEKDAYS[0]];

const LIST_HINTS: Readonly<Partial<Record<RuleField, string>>> = {
  planIds: "Ids of your plans. Separate several by commas.",
  cardCountries: "Two letters, such as FR. The country may become known with an attempt.",
  currencies: "Three letters, such as EUR.",
  customerIds: "Your ids of customers.",
};

const capitalize = (word: string) => word[0] + word.slice(1).toLowerCase();
