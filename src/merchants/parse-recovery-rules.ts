import { holdsCardNumber } from "../domain/card-number.ts";
import { CONTROL_CHARACTER } from "../domain/display-text.ts";
import { DAY_MS, MINUTE_MS } from "../domain/durations.ts";
import { type QuietTimes, type RecoveryRule, type RuleConditions, WEEKDAYS } from "../domain/recovery-rule.ts";

/** A rule as merchants write it; an absent `id` is a new rule. */
export type ProposedRule = Omit<RecoveryRule, "id"> & { id?: string | undefined };

export interface RuleProblem {
  /** Such as "rules[2].windowDays". */
  field: string;
  /** As in "must be an integer from 1 to 365". */
  rule: string;
}

export const RULE_LIMITS = {
  rules: 100,
  values: 500,
  nameChars: 100,
  idChars: 255,
  amount: [0, Number.MAX_SAFE_INTEGER],
  windowDays: [1, 365],
  budget: [0, 100],
  leadMinutes: [0, 1440],
  hour: [0, 23],
  /** The learned policy plans in slots of four hours, and one of them must be left. */
  quietHours: 20,
} as const;

const FIELDS = [
  ...(["id", "name", "planIds", "businessEntities", "cardCountries", "currencies", "amountFrom", "amountTo"] as const),
  ...(["customerIds", "leaveOut", "windowDays", "budget", "leadMinutes", "quietWeekdays", "quietDates"] as const),
  ...(["quietFromHour", "quietToHour"] as const),
] as const;
export type RuleField = (typeof FIELDS)[number];
export const RULE_FIELDS: readonly RuleField[] = FIELDS;
const OUTCOME_FIELDS: readonly RuleField[] = FIELDS.slice(FIELDS.indexOf("windowDays"));

/** The fields of a rule in JSON; null, "" and absent are the same. */
export type RuleJson = Partial<Record<RuleField, unknown>>;

export const LEAVES_OUT_RULE = "must be absent, because leaveOut is true";

class Refusal extends Error {
  readonly field: string;
  readonly rule: string;
  constructor(field: string, rule: string) {
    super(`${field} ${rule}`);
    this.field = field;
    this.rule = rule;
  }
}

/** Returns the rules in order, or the first problem. Unknown fields are refused: a misspelled condition would widen a rule. */
export function parseRecoveryRules(value: unknown): ProposedRule[] | RuleProblem {
  try {
    return parseRules(value);
  } catch (error) {
    if (error instanceof Refusal) return { field: error.field, rule: error.rule };
    throw error;
  }
}

function parseRules(value: unknown): ProposedRule[] {
  if (!Array.isArray(value)) throw new Refusal("rules", "must be a list of rules");
  if (value.length > RULE_LIMITS.rules) throw new Refusal("rules", `must hold at most ${RULE_LIMITS.rules} rules`);
  const rules = value.map((rule, index) => parseRule(rule, `rules[${index}]`));
  const repeated = rules.findIndex(({ id }, index) => id !== undefined && indexOfId(rules, id) < index);
  if (repeated >= 0) throw new Refusal(`rules[${repeated}].id`, "must differ from the ids of the other rules");
  const names = rules.map(({ name }) => name.trim().toLowerCase());
  const namesake = names.findIndex((name, index) => names.indexOf(name) < index);
  if (namesake >= 0) throw new Refusal(`rules[${namesake}].name`, "must differ from the names of the other rules");
  return rules;
}

const indexOfId = (rules: readonly ProposedRule[], id: string) => rules.findIndex((rule) => rule.id === id);

function parseRule(value: unknown, path: string): ProposedRule {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new Refusal(path, "must be a JSON object");
  const unknown = Object.keys(value).find((name) => !(FIELDS as readonly string[]).includes(name));
  if (unknown !== undefined) throw unknownFieldRefusal(path, unknown);
  const source = { json: value as RuleJson, path };
  const leaveOut = readBoolean(source, "leaveOut");
  const outcome = OUTCOME_FIELDS.find((name) => hasField(source, name));
  if (leaveOut && outcome) throw new Refusal(`${path}.${outcome}`, LEAVES_OUT_RULE);
  return {
    id: readId(source),
    name: readName(source),
    conditions: parseConditions(source),
    leaveOut,
    windowDays: readInteger(source, "windowDays", RULE_LIMITS.windowDays),
    budget: readInteger(source, "budget", RULE_LIMITS.budget),
    leadMs: toMs(readInteger(source, "leadMinutes", RULE_LIMITS.leadMinutes)),
    quiet: parseQuietTimes(source),
  };
}

function unknownFieldRefusal(path: string, name: string): Refusal {
  const fields = `the fields are ${FIELDS.join(", ")}`;
  // Messages repeat no name that could hold a card number.
  const isShown = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(name) && !/\d{6}/.test(name);
  if (!isShown) return new Refusal(path, `has an unknown field; ${fields}`);
  return new Refusal(`${path}.${name}`, `is not a field of a rule; ${fields}`);
}

const toMs = (minutes: number | null) => (minutes === null ? null : minutes * MINUTE_MS);

function parseConditions(source: RuleSource): RuleConditions {
  const conditions = {
    planIds: readIdentifiers(source, "planIds"),
    businessEntities: readIdentifiers(source, "businessEntities"),
    cardCountries: readList(source, "cardCountries", isCountry, "must be two capital letters (ISO 3166 alpha-2)"),
    currencies: readList(source, "currencies", isCurrency, "must be three capital letters"),
    amountFrom: readInteger(source, "amountFrom", RULE_LIMITS.amount) ?? undefined,
    amountTo: readInteger(source, "amountTo", RULE_LIMITS.amount) ?? undefined,
    customerIds: readIdentifiers(source, "customerIds"),
  };
  const { amountFrom, amountTo, currencies } = conditions;
  if ((amountFrom !== undefined || amountTo !== undefined) && currencies?.length !== 1)
    refuse(source, "currencies", "must name exactly one currency, because the rule is about an amount");
  if (amountFrom !== undefined && amountTo !== undefined && amountFrom > amountTo)
    refuse(source, "amountTo", "must not be less than amountFrom");
  return Object.fromEntries(Object.entries(conditions).filter(([, value]) => value !== undefined));
}

const isCountry = (text: string) => /^[A-Z]{2}$/.test(text);
const isCurrency = (text: string) => /^[A-Z]{3}$/.test(text);

function parseQuietTimes(source: RuleSource): QuietTimes | null {
  const isWeekday = (text: string) => (WEEKDAYS as readonly string[]).includes(text);
  const weekdays = readList(source, "quietWeekdays", isWeekday, `must be one of ${WEEKDAYS.join(", ")}`) ?? [];
  if (new Set(weekdays).size === WEEKDAYS.length) refuse(source, "quietWeekdays", "must leave one weekday for retries");
  const dates = readList(source, "quietDates", isDateRange, DATE_RULE) ?? [];
  if (!leavesDays(dates)) refuse(source, "quietDates", "must leave days of each year for retries");
  const from = readInteger(source, "quietFromHour", RULE_LIMITS.hour);
  const to = readInteger(source, "quietToHour", RULE_LIMITS.hour);
  if (from === null && to === null)
    return weekdays.length + dates.length === 0 ? null : ({ weekdays, dates, hours: null } as QuietTimes);
  if (from === null || to === null)
    return refuse(source, from === null ? "quietFromHour" : "quietToHour", "is required with the other hour");
  if (from === to || (to - from + 24) % 24 > RULE_LIMITS.quietHours)
    return refuse(
      source,
      "quietToHour",
      `must be 1 to ${RULE_LIMITS.quietHours} hours after quietFromHour, so that hours for retries are left`,
    );
  return { weekdays, dates, hours: { from, to } } as QuietTimes;
}

const DATE_RULE =
  "must be a date or a range of dates, such as 12-25, 12-24..01-01 or 2026-12-24..2027-01-01, in the order of time";
const DATE = /^(?:\d{4}-)?\d{2}-\d{2}$/;
/** A yearly date may be February 29. */
const LEAP_YEAR = "2028-";

function isDateRange(text: string): boolean {
  const [from, to = from, ...others] = text.split("..") as [string, string?];
  if (others.length > 0 || !DATE.test(from) || !DATE.test(to) || from.length !== to.length) return false;
  const isYearly = from.length === "MM-DD".length;
  return isDate(from) && isDate(to) && (isYearly || from <= to);
}

/** Whether a year keeps a day besides February 29. Dates of one year count apart from yearly ones. */
function leavesDays(dates: readonly string[]): boolean {
  const ranges = dates.map((each) => each.split("..") as [string, string?]).map(([from, to = from]) => ({ from, to }));
  const [yearly, once] = [true, false].map((isYearly) =>
    ranges.filter(({ from }) => (from.length === "MM-DD".length) === isYearly),
  );
  const isYearly = (date: string) =>
    yearly!.some(({ from, to }) => (from <= to ? from <= date && date <= to : date >= from || date <= to));
  if (YEAR_DATES.every(isYearly)) return false;
  let reached = "";
  let since = "";
  for (const { from, to } of once!.sort((a, b) => (a.from < b.from ? -1 : 1))) {
    if (reached === "" || from > dayAfter(reached)) since = from;
    if (to > reached) reached = to;
    const firstYear = Number(since.slice(0, 4)) + (since.endsWith("01-01") ? 0 : 1);
    if (reached >= `${String(firstYear).padStart(4, "0")}-12-31`) return false;
  }
  return true;
}

const dayAfter = (date: string) => new Date(Date.parse(`${date}T00:00:00Z`) + DAY_MS).toISOString().slice(0, 10);
const YEAR_DATES = Array.from({ length: 365 }, (_, day) =>
  new Date(Date.UTC(2027, 0, 1) + day * DAY_MS).toISOString().slice("2027-".length, "2027-MM-DD".length),
);

function isDate(date: string): boolean {
  const full = date.length === "MM-DD".length ? LEAP_YEAR + date : date;
  const time = Date.parse(`${full}T00:00:00Z`);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(full);
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const isCleanText = (text: string, charsMax: number) =>
  text.length > 0 && text.length <= charsMax && text.isWellFormed() && !CONTROL_CHARACTER.test(text);

interface RuleSource {
  json: RuleJson;
  path: string;
}

function fieldValue({ json }: RuleSource, name: RuleField): unknown {
  const value = json[name];
  return value === null || value === "" ? undefined : value;
}

const hasField = (source: RuleSource, name: RuleField) => fieldValue(source, name) !== undefined;

function refuse({ path }: RuleSource, name: RuleField, rule: string): never {
  throw new Refusal(`${path}.${name}`, rule);
}

function readBoolean(source: RuleSource, name: RuleField): boolean {
  const value = fieldValue(source, name) ?? false;
  return typeof value === "boolean" ? value : refuse(source, name, "must be true or false");
}

function readInteger(source: RuleSource, name: RuleField, [least, most]: readonly [number, number]): number | null {
  const value = fieldValue(source, name);
  if (value === undefined) return null;
  return Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most
    ? (value as number)
    : refuse(source, name, `must be an integer from ${least} to ${most}`);
}

function readId(source: RuleSource): string | undefined {
  const value = fieldValue(source, "id");
  if (value === undefined) return undefined;
  return typeof value === "string" && UUID.test(value)
    ? value
    : refuse(source, "id", "must be a UUID in lower case, or absent for a new rule");
}

const NAME_RULE = `must be a string of 1 to ${RULE_LIMITS.nameChars} characters, without control characters`;

function readName(source: RuleSource): string {
  const value = fieldValue(source, "name");
  if (value === undefined) return refuse(source, "name", "is required");
  if (typeof value !== "string" || !isCleanText(value, RULE_LIMITS.nameChars) || value.trim() === "")
    return refuse(source, "name", NAME_RULE);
  return holdsCardNumber(value, 1) ? refuse(source, "name", "must not hold a card number") : value;
}

const IDENTIFIER_RULE = `must be a string of 1 to ${RULE_LIMITS.idChars} characters, without control characters and card numbers`;
const isIdentifier = (text: string) => isCleanText(text, RULE_LIMITS.idChars) && !holdsCardNumber(text, 2);

const readIdentifiers = (source: RuleSource, name: RuleField) => readList(source, name, isIdentifier, IDENTIFIER_RULE);

function readList(source: RuleSource, name: RuleField, isValid: (text: string) => boolean, rule: string) {
  const value = fieldValue(source, name);
  if (value === undefined) return undefined;
  if (!Array.isArray(value) || value.length === 0 || value.length > RULE_LIMITS.values)
    return refuse(source, name, `must be a list of 1 to ${RULE_LIMITS.values} values, or absent`);
  const wrong = value.findIndex((each) => typeof each !== "string" || !isValid(each));
  if (wrong >= 0) throw new Refusal(`${source.path}.${name}[${wrong}]`, rule);
  return [...new Set(value as string[])];
}
