import { createHash } from "node:crypto";
import { formatMoneyText } from "../domain/currency.ts";
import { MINUTE_MS } from "../domain/durations.ts";
import type { RecoveryRule, RuleConditions } from "../domain/recovery-rule.ts";
import { describeQuietTimes } from "../engine/quiet-times.ts";

/** "plan annual, card country FR, amount from EUR 500.00"; "all invoices" without a condition. */
export function describeConditions(
  { planIds, businessEntities, cardCountries, currencies, amountFrom, amountTo, customerIds }: RuleConditions,
  nameCustomer: (id: string) => string = (id) => id,
): string {
  const list = (label: string, values: readonly string[] | undefined) =>
    values ? [`${label} ${values.join(" or ")}`] : [];
  const money = (amount: number) => formatMoneyText(amount, currencies![0]!);
  const parts = [
    ...list("plan", planIds),
    ...list("entity", businessEntities),
    ...list("card country", cardCountries),
    ...(amountFrom === undefined && amountTo === undefined ? list("currency", currencies) : []),
    ...(amountFrom === undefined ? [] : [`amount from ${money(amountFrom)}`]),
    ...(amountTo === undefined ? [] : [`amount up to ${money(amountTo)}`]),
    ...list("customer", customerIds?.map(nameCustomer)),
  ];
  return parts.length === 0 ? "all invoices" : parts.join(", ");
}

const count = (number: number, noun: string, plural: string) => `${number} ${number === 1 ? noun : plural}`;

/** "14 days, 3 retries, no retries on Sundays"; "as in the settings" without an outcome. */
export function describeOutcome({ leaveOut, windowDays, budget, leadMs, quiet }: Omit<RecoveryRule, "id">): string {
  if (leaveOut) return "left to your own system";
  const parts = [
    ...(windowDays === null ? [] : [count(windowDays, "day", "days")]),
    ...(budget === null ? [] : [count(budget, "retry", "retries")]),
    ...(quiet ? [`no retries ${describeQuietTimes(quiet)}`] : []),
    ...(leadMs === null ? [] : [`requested ${count(leadMs / MINUTE_MS, "minute", "minutes")} ahead`]),
  ];
  return parts.length === 0 ? "as in the settings" : parts.join(", ");
}

const HASH_DIGITS = 12;

/** The audit log outlives an erased customer, so it names a customer by a hash. */
const hashCustomer = (merchantId: string) => (id: string) =>
  `sha256:${createHash("sha256").update(`${merchantId}/${id}`).digest("hex").slice(0, HASH_DIGITS)}`;

/** For the audit log. */
export const describeRules = (merchantId: string, rules: readonly Omit<RecoveryRule, "id">[]): string =>
  rules.length === 0
    ? "no rules"
    : rules
        .map(
          (rule, index) =>
            `${index + 1}. ${rule.name}: ${describeConditions(rule.conditions, hashCustomer(merchantId))} → ${describeOutcome(rule)}`,
        )
        .join("; ");
