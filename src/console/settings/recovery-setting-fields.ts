import type { Engine, Merchant } from "../../domain/merchant.ts";
import { MERCHANT_DEFAULTS } from "../../domain/merchant.ts";
import { EXPLORATION_MIN_OUTCOMES } from "../../engine/explore-first-retry.ts";
import type { MerchantSettings } from "../../merchants/merchant-settings.ts";
import { SETTING_RANGES } from "../../merchants/setting-ranges.ts";
import { type Html, type HtmlPart, html } from "../html.ts";
import { formField, selectField } from "../show/form-fields.ts";
import { formatCount } from "../show/number-format.ts";

type Read = Pick<
  Merchant,
  | "windowDays"
  | "budget"
  | "smallestAmount"
  | "leadMs"
  | "engine"
  | "explore"
  | "sharesLearning"
  | "sendsRecoveryEnded"
  | "ratePerSecond"
  | "rateBurst"
>;

interface SettingField {
  name: string;
  label: string;
  /** One sentence. */
  meaning: HtmlPart;
  /** As the form has it. */
  textOf(merchant: Read): string;
  toSettings(text: string): MerchantSettings;
  /** A choice; otherwise a whole number within `range`. */
  choices?: readonly (readonly [value: string, words: string])[];
  range?: readonly [min: number, max: number];
}

const YES_NO = [
  ["yes", "Yes"],
  ["no", "No"],
] as const;
const yesNo = (is: boolean) => (is ? "yes" : "no");

/** How Dunlin retries. */
export const RETRY_FIELDS: readonly SettingField[] = [
  {
    name: "windowDays",
    label: "Recovery window, days",
    meaning: "How long Dunlin may recover an invoice after it became unpaid.",
    range: SETTING_RANGES.windowDays,
    textOf: ({ windowDays }) => String(windowDays),
    toSettings: (text) => ({ windowDays: Number(text) }),
  },
  {
    name: "budget",
    label: "Retries per invoice",
    meaning: "How many retries Dunlin may request within the window.",
    range: SETTING_RANGES.budget,
    textOf: ({ budget }) => String(budget),
    toSettings: (text) => ({ budget: Number(text) }),
  },
  {
    name: "smallestAmount",
    label: "Smallest amount to retry, in minor units",
    meaning: "If an invoice owes less, Dunlin plans no retry. 500 means EUR 5.00, and JPY 500.",
    range: SETTING_RANGES.smallestAmount,
    textOf: ({ smallestAmount }) => String(smallestAmount),
    toSettings: (text) => ({ smallestAmount: Number(text) }),
  },
  {
    name: "leadMinutes",
    label: "Lead, minutes",
    meaning: "How long before the planned time your system gets the instruction.",
    range: SETTING_RANGES.leadMinutes,
    textOf: ({ leadMs }) => String(leadMs / 60_000),
    toSettings: (text) => ({ leadMs: Number(text) * 60_000 }),
  },
  {
    name: "engine",
    label: "Times chosen by",
    meaning: "The learned model weighs the outcomes of past retries; fixed rules use none of them.",
    choices: [
      ["learned", "the learned model"],
      ["static", "fixed rules"],
    ],
    textOf: ({ engine }) => engine,
    toSettings: (text) => ({ engine: text as Engine }),
  },
];

/** How Dunlin learns, what it reports, and how much it accepts. */
export const OTHER_FIELDS: readonly SettingField[] = [
  {
    name: "explore",
    label: "Random exploration",
    meaning: html`To keep its model accurate, Dunlin sends a share of retries at a time other than the one with the highest expected value. <a href="/docs/guides/engine.html">How Dunlin learns</a>.`,
    choices: [
      ["auto", `After ${EXPLORATION_MIN_OUTCOMES} outcomes`],
      ["yes", "Always"],
      ["no", "Never"],
    ],
    textOf: ({ explore }) => (explore === null ? "auto" : yesNo(explore)),
    toSettings: (text) => ({ explore: text === "auto" ? null : text === "yes" }),
  },
  {
    name: "sharesLearning",
    label: "Learn with other merchants",
    meaning: "One model trains on the outcomes of all merchants that share, instead of one on yours alone.",
    choices: YES_NO,
    textOf: ({ sharesLearning }) => yesNo(sharesLearning),
    toSettings: (text) => ({ sharesLearning: text === "yes" }),
  },
  {
    name: "sendsRecoveryEnded",
    label: "Send recovery_ended",
    meaning: "Your endpoint gets this event when a case ends, for whatever reason.",
    choices: YES_NO,
    textOf: ({ sendsRecoveryEnded }) => yesNo(sendsRecoveryEnded),
    toSettings: (text) => ({ sendsRecoveryEnded: text === "yes" }),
  },
  {
    name: "ratePerSecond",
    label: "API requests per second",
    meaning: "The limit of each API key; Dunlin answers further requests with 429.",
    range: SETTING_RANGES.ratePerSecond,
    textOf: ({ ratePerSecond }) => String(ratePerSecond),
    toSettings: (text) => ({ ratePerSecond: Number(text) }),
  },
  {
    name: "rateBurst",
    label: "API requests at once",
    meaning: "The limit of each API key after a pause; the rate holds from then on.",
    range: SETTING_RANGES.rateBurst,
    textOf: ({ rateBurst }) => String(rateBurst),
    toSettings: (text) => ({ rateBurst: Number(text) }),
  },
];

const FIELDS = [...RETRY_FIELDS, ...OTHER_FIELDS];

/** Differs whenever a form's setting, or the merchant, differs. */
export const formVersionOf = (merchant: Merchant): string =>
  [merchant.id, ...FIELDS.map((field) => field.textOf(merchant))].join(" ");

export type FieldProblems = ReadonlyMap<string, string>;

/** Reads all settings, or names each field's problem. */
export function readSettings(form: URLSearchParams): { settings: MerchantSettings } | { problems: FieldProblems } {
  const problems = new Map<string, string>();
  const settings: MerchantSettings = {};
  for (const field of FIELDS) {
    const text = (form.get(field.name) ?? "").trim();
    const problem = findProblem(field, text);
    if (problem) problems.set(field.name, problem);
    else Object.assign(settings, field.toSettings(text));
  }
  return problems.size > 0 ? { problems } : { settings };
}

function findProblem({ choices, range }: SettingField, text: string): string | null {
  if (choices) return choices.some(([value]) => value === text) ? null : "Choose one of the values.";
  const [min, max] = range!;
  const isInside = /^\d{1,16}$/.test(text) && Number(text) >= min && Number(text) <= max;
  return isInside ? null : `Enter a whole number from ${formatCount(min)} to ${formatCount(max)}.`;
}

/** @param typed  a refused form */
export const settingInputs = (
  fields: readonly SettingField[],
  merchant: Merchant,
  typed: URLSearchParams | null,
  problems: FieldProblems,
): Html =>
  html`${fields.map((field) => {
    const { name, label, choices } = field;
    const value = typed?.get(name) ?? field.textOf(merchant);
    const hint = html`${field.meaning} Default: ${defaultWords(field)}.`;
    const problem = problems.get(name);
    return choices
      ? selectField(label, name, choices, value, { hint, problem })
      : formField({ label, name, value, hint, problem, required: true, maxlength: 16 });
  })}`;

function defaultWords({ textOf, choices }: SettingField): string {
  const text = textOf(MERCHANT_DEFAULTS);
  return choices?.find(([value]) => value === text)?.[1] ?? text;
}
