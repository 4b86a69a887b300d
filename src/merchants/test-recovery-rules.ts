import type { Case } from "../domain/case.ts";
import type { Merchant } from "../domain/merchant.ts";
import { describeRulesThatNeverApply, findDecidingRule, type NumberedRule } from "../domain/recovery-rule.ts";
import { findCustomerLocale } from "../engine/customer-locale.ts";
import { buildQuietGuard, quietTimesOf } from "../engine/quiet-times.ts";
import type { Tx } from "../postgres/database.ts";
import { followRule, mergeAttempts, ruleFactsOf } from "../recovery/case-rules.ts";
import { LEDGER_WINDOW_MS } from "../recovery/load-cases.ts";
import { type PaymentProfile, paymentProfileOf } from "../recovery/payment-profile.ts";
import { findInvoices } from "../tables/invoices.ts";
import { findMerchant } from "../tables/merchants.ts";
import { openCasesAfter, plannedRetries } from "../tables/recovery-rules.ts";
import { readSubscriptionFacts } from "../tables/subscriptions.ts";
import { transactionsForCases } from "../tables/transactions.ts";
import type { ProposedRule } from "./parse-recovery-rules.ts";

/** Open cases and their money by currency, in minor units. */
export interface SegmentTotal {
  openCases: number;
  amounts: Record<string, number>;
}

export interface RulesTest {
  openCases: number;
  /** Cases that end, whose window or budget changes, or whose planned retry lies in a quiet time. */
  planChanges: number;
  /** In order. */
  rules: (SegmentTotal & { name: string })[];
  /** Cases that no rule fits. */
  others: SegmentTotal;
  /** About rules that never apply. */
  notes: string[];
}

const PAGE_SIZE = 500;

/** Finds what rules would change in the open cases, with the facts that the next step of each would use. Writes nothing. */
export async function testRules(tx: Tx, merchantId: string, proposed: readonly ProposedRule[]): Promise<RulesTest> {
  const rules = proposed.map((rule, index) => ({ ...rule, id: rule.id ?? `new ${index}`, number: index + 1 }));
  const newTotal = (): SegmentTotal => ({ openCases: 0, amounts: {} });
  const result: RulesTest = {
    ...{ openCases: 0, planChanges: 0, others: newTotal() },
    rules: rules.map(({ name }) => ({ name, ...newTotal() })),
    notes: describeRulesThatNeverApply(rules),
  };
  const merchant = await findMerchant(tx, merchantId);
  if (!merchant) return result;
  for (let after = ""; ; ) {
    const cases = await openCasesAfter(tx, merchantId, after, PAGE_SIZE);
    for (const { recoveryCase, rule, isChanged } of await testPage(tx, merchant, cases, rules)) {
      result.openCases++;
      if (isChanged) result.planChanges++;
      addCase(rule ? result.rules[rule.number - 1]! : result.others, recoveryCase);
    }
    if (cases.length < PAGE_SIZE) return result;
    after = cases.at(-1)!.invoiceId;
  }
}

function addCase(total: SegmentTotal, { currency, amount }: Case) {
  total.openCases++;
  total.amounts[currency] = (total.amounts[currency] ?? 0) + amount;
}

async function testPage(tx: Tx, merchant: Merchant, cases: readonly Case[], rules: readonly NumberedRule[]) {
  if (cases.length === 0) return [];
  const invoiceIds = cases.map(({ invoiceId }) => invoiceId);
  const customerIds = distinct(cases.map(({ customerId }) => customerId));
  const earliest = Math.min(...cases.map(({ unpaidAt }) => unpaidAt.getTime()));
  const [invoices, attempts, retries] = await Promise.all([
    findInvoices(tx, merchant.id, invoiceIds),
    transactionsForCases(tx, merchant.id, invoiceIds, customerIds, new Date(earliest - LEDGER_WINDOW_MS)),
    plannedRetries(
      tx,
      merchant.id,
      cases.map(({ id }) => id),
    ),
  ]);
  const subscriptionIds = distinct([...invoices.values()].map(({ subscriptionId }) => subscriptionId));
  const subscriptions = await readSubscriptionFacts(tx, merchant.id, subscriptionIds);
  const byInvoice = Map.groupBy(attempts, ({ invoiceId }) => invoiceId);
  const byCustomer = Map.groupBy(attempts, ({ customerId }) => customerId);
  const plannedAt = new Map(retries.map(({ caseId, at }) => [caseId, at]));
  return cases.flatMap((recoveryCase) => {
    const invoice = invoices.get(recoveryCase.invoiceId);
    if (!invoice) return [];
    const since = recoveryCase.unpaidAt.getTime() - LEDGER_WINDOW_MS;
    const transactions = mergeAttempts(
      byInvoice.get(invoice.id),
      byCustomer.get(recoveryCase.customerId)?.filter(({ createdAt }) => createdAt.getTime() > since),
    );
    const profile = paymentProfileOf({ case: recoveryCase, invoice, transactions });
    const subscription = invoice.subscriptionId === undefined ? null : subscriptions.get(invoice.subscriptionId);
    const rule = findDecidingRule(rules, ruleFactsOf(invoice, subscription, profile));
    const isChanged =
      rule?.leaveOut === true ||
      isPlanChanged(recoveryCase, rule, merchant) ||
      isQuiet(plannedAt.get(recoveryCase.id), rule, profile, invoice.currency);
    return [{ recoveryCase, rule, isChanged }];
  });
}

function isPlanChanged(recoveryCase: Case, rule: NumberedRule | null, merchant: Merchant): boolean {
  const after = followRule(recoveryCase, rule, merchant);
  return after !== null && (+after.windowEndsAt !== +recoveryCase.windowEndsAt || after.budget !== recoveryCase.budget);
}

function isQuiet(at: Date | undefined, rule: NumberedRule | null, profile: PaymentProfile, currency: string): boolean {
  const quiet = quietTimesOf(rule);
  if (!at || !quiet) return false;
  const { zone } = findCustomerLocale({
    ...{ customerTimezone: profile.customerTimezone ?? null, cardCountry: profile.cardCountry ?? null, currency },
  });
  return buildQuietGuard(quiet, zone).rulingAt(at.getTime()) !== null;
}

const distinct = (values: readonly (string | undefined)[]) => [
  ...new Set(values.filter((value): value is string => value !== undefined)),
];
