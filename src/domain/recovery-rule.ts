export const WEEKDAYS = ["SUNDAY", "MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY"] as const;
export type Weekday = (typeof WEEKDAYS)[number];

/** Times without retries, on the customer's clock. Any of them forbids a retry. */
export interface QuietTimes {
  weekdays: readonly Weekday[];
  /** "12-24..01-01" each year, "2026-12-24..2027-01-01" once, or one day; both ends belong to it. */
  dates: readonly string[];
  /** Full hours, 0 to 23; `to` is exclusive and may lie on the next day. */
  hours: { from: number; to: number } | null;
}

/** Undefined conditions always hold. Amounts are minor units of the one currency. */
export interface RuleConditions {
  planIds?: readonly string[] | undefined;
  businessEntities?: readonly string[] | undefined;
  /** ISO 3166 alpha-2. */
  cardCountries?: readonly string[] | undefined;
  currencies?: readonly string[] | undefined;
  /** Both ends belong to the range. */
  amountFrom?: number | undefined;
  amountTo?: number | undefined;
  customerIds?: readonly string[] | undefined;
}

/** Null outcomes come from the merchant's settings. */
export interface RecoveryRule {
  id: string;
  name: string;
  conditions: RuleConditions;
  /** Dunlin never acts on such an invoice. */
  leaveOut: boolean;
  windowDays: number | null;
  /** Retries per case. */
  budget: number | null;
  leadMs: number | null;
  quiet: QuietTimes | null;
}

/** `number`: its place in the order, from 1. */
export interface NumberedRule extends RecoveryRule {
  number: number;
}

/** What conditions are about; null: unknown, and fits no condition. */
export interface RuleFacts {
  planId: string | null;
  businessEntity: string | null;
  cardCountry: string | null;
  currency: string;
  /** Of the whole invoice, so that a partial payment changes no rule. */
  amount: number;
  customerId: string;
}

/** The first that fits decides. */
export const findDecidingRule = <Rule extends Pick<RecoveryRule, "conditions">>(
  rules: readonly Rule[],
  facts: RuleFacts,
): Rule | null => rules.find(({ conditions }) => fits(conditions, facts)) ?? null;

function fits(conditions: RuleConditions, facts: RuleFacts): boolean {
  const { planIds, businessEntities, cardCountries, currencies, amountFrom, amountTo, customerIds } = conditions;
  return (
    isAmong(planIds, facts.planId) &&
    isAmong(businessEntities, facts.businessEntity) &&
    isAmong(cardCountries, facts.cardCountry) &&
    isAmong(currencies, facts.currency) &&
    isAmong(customerIds, facts.customerId) &&
    (amountFrom === undefined || facts.amount >= amountFrom) &&
    (amountTo === undefined || facts.amount <= amountTo)
  );
}

const isAmong = (values: readonly string[] | undefined, value: string | null) =>
  values === undefined || (value !== null && values.includes(value));

/** "rule 3 never applies: rule 1 fits every invoice", for each rule behind one without conditions. */
export function describeRulesThatNeverApply(rules: readonly Pick<RecoveryRule, "conditions">[]): string[] {
  const first = rules.findIndex(({ conditions }) => Object.values(conditions).every((value) => value === undefined));
  if (first < 0) return [];
  return rules
    .slice(first + 1)
    .map((_, index) => `rule ${first + index + 2} never applies: rule ${first + 1} fits every invoice`);
}

/** "Your rule 3, “France”," as the subject of a sentence. */
export const nameRule = ({ number, name }: Pick<NumberedRule, "number" | "name">) => `Your rule ${number}, “${name}”,`;
