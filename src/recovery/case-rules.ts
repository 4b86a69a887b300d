import type { Case } from "../domain/case.ts";
import { DAY_MS } from "../domain/durations.ts";
import type { Invoice } from "../domain/invoice.ts";
import type { Merchant } from "../domain/merchant.ts";
import { findDecidingRule, type NumberedRule, type RuleFacts } from "../domain/recovery-rule.ts";
import type { Tx } from "../postgres/database.ts";
import type { CaseRule } from "../tables/cases.ts";
import { readSubscriptionFacts, type SubscriptionFacts } from "../tables/subscriptions.ts";
import { type TransactionFacts, transactionsForCases } from "../tables/transactions.ts";
import { type PaymentProfile, paymentProfileOf } from "./payment-profile.ts";

export const ruleFactsOf = (
  invoice: Pick<Invoice, "businessEntity" | "currency" | "amount" | "customerId">,
  subscription: Pick<SubscriptionFacts, "planId"> | null | undefined,
  { cardCountry }: Pick<PaymentProfile, "cardCountry">,
): RuleFacts => ({
  planId: subscription?.planId ?? null,
  businessEntity: invoice.businessEntity ?? null,
  cardCountry: cardCountry ?? null,
  currency: invoice.currency,
  amount: invoice.amount,
  customerId: invoice.customerId,
});

const NO_RULE = { ruleId: null, ruleWindowDays: null, ruleBudget: null };

/** For a case that opens. A rule that leaves the invoice out gives no window: the first step ends the case. */
export const buildCaseRule = (rule: NumberedRule | null, { windowDays, budget }: Merchant) => ({
  ...(rule ? { ruleId: rule.id, ruleWindowDays: rule.windowDays, ruleBudget: rule.budget } : NO_RULE),
  windowDays: rule?.windowDays ?? windowDays,
  budget: rule?.budget ?? budget,
});

/**
 * Follows the rule that decides now. A window or budget that no rule gives or gave stays as it was at the opening; one that a
 * rule gave before comes from the settings.
 *
 * @returns null if nothing changes
 */
export function followRule(recoveryCase: Case, rule: NumberedRule | null, merchant: Merchant): CaseRule | null {
  const { ruleId, ruleWindowDays, ruleBudget } = buildCaseRule(rule, merchant);
  const isSameWindow = ruleWindowDays === recoveryCase.ruleWindowDays;
  const isSameBudget = ruleBudget === recoveryCase.ruleBudget;
  if (ruleId === recoveryCase.ruleId && isSameWindow && isSameBudget) return null;
  const { windowDays, budget } = buildCaseRule(rule, merchant);
  return {
    ...{ id: recoveryCase.id, ruleId, ruleWindowDays, ruleBudget },
    windowEndsAt: isSameWindow
      ? recoveryCase.windowEndsAt
      : new Date(recoveryCase.unpaidAt.getTime() + windowDays * DAY_MS),
    budget: isSameBudget ? recoveryCase.budget : budget,
  };
}

/**
 * The rules that decide invoices whose cases may open. Reads subscriptions and attempts only if a condition is about them.
 *
 * @returns by invoice id; without an entry no rule fits
 */
export async function findOpeningRules(
  tx: Tx,
  merchantId: string,
  rules: readonly NumberedRule[],
  invoices: readonly Invoice[],
  since: Date,
): Promise<ReadonlyMap<string, NumberedRule>> {
  if (rules.length === 0 || invoices.length === 0) return new Map();
  const areNeeded = (field: "planIds" | "cardCountries") => rules.some(({ conditions }) => conditions[field]);
  const [subscriptions, attempts] = await Promise.all([
    areNeeded("planIds")
      ? readSubscriptionFacts(tx, merchantId, distinct(invoices.map((i) => i.subscriptionId)))
      : null,
    areNeeded("cardCountries") ? readAttempts(tx, merchantId, invoices, since) : [],
  ]);
  const byInvoice = Map.groupBy(attempts, ({ invoiceId }) => invoiceId);
  const byCustomer = Map.groupBy(attempts, ({ customerId }) => customerId);
  return new Map(
    invoices.flatMap((invoice) => {
      const transactions = mergeAttempts(byInvoice.get(invoice.id), byCustomer.get(invoice.customerId));
      const profile = paymentProfileOf({ case: invoice, invoice, transactions });
      const subscription = invoice.subscriptionId === undefined ? null : subscriptions?.get(invoice.subscriptionId);
      const rule = findDecidingRule(rules, ruleFactsOf(invoice, subscription, profile));
      return rule ? [[invoice.id, rule] as const] : [];
    }),
  );
}

const readAttempts = (tx: Tx, merchantId: string, invoices: readonly Invoice[], since: Date) =>
  transactionsForCases(
    tx,
    merchantId,
    invoices.map(({ id }) => id),
    distinct(invoices.map(({ customerId }) => customerId)),
    since,
  );

/** Oldest first, as both are. */
export function mergeAttempts(
  onInvoice: readonly TransactionFacts[] = [],
  byCustomer: readonly TransactionFacts[] = [],
): TransactionFacts[] {
  return [...new Set([...onInvoice, ...byCustomer])].sort(
    (a, b) => a.createdAt.getTime() - b.createdAt.getTime() || (a.id < b.id ? -1 : 1),
  );
}

const distinct = (values: readonly (string | undefined)[]) => [
  ...new Set(values.filter((value): value is string => value !== undefined)),
];
