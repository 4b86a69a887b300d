import { DAY_MS } from "../domain/durations.ts";
import type { Merchant } from "../domain/merchant.ts";
import type { Ports } from "../domain/ports.ts";
import type { NumberedRule } from "../domain/recovery-rule.ts";
import type { Tx } from "../postgres/database.ts";
import { type EndedCase, endCases, openCases } from "../tables/cases.ts";
import { withdrawEvents, withdrawRetries } from "../tables/events.ts";
import { runningExperiment } from "../tables/experiments.ts";
import { clearConflicts, saveConflicts } from "../tables/invoice-conflicts.ts";
import { findMerchant } from "../tables/merchants.ts";
import { listRecoveryRules } from "../tables/recovery-rules.ts";
import { assignArms } from "./assign-arms.ts";
import { buildCaseRule, findOpeningRules } from "./case-rules.ts";
import { LEDGER_WINDOW_MS } from "./load-cases.ts";
import {
  findEndedByBalance,
  findOwedInvoices,
  type InvoiceReview,
  listConflicts,
  listWaitingCases,
  type OwedInvoice,
} from "./review-invoices.ts";

/** New cases begin with these. */
export interface OpeningContext {
  settings: Merchant;
  experiment: Awaited<ReturnType<typeof runningExperiment>>;
  rules: readonly NumberedRule[];
}

/** Reads in the transaction that opens cases: a case keeps the settings, and a request may hold some that are seconds old. */
export async function loadOpeningContext(tx: Tx, merchantId: string): Promise<OpeningContext | null> {
  const [settings, experiment, rules] = await Promise.all([
    findMerchant(tx, merchantId),
    runningExperiment(tx, merchantId),
    listRecoveryRules(tx, merchantId),
  ]);
  return settings && { settings, experiment, rules };
}

/** Runs the last statements, sent together with the commit. Returns withdrawn events. */
export type FinalWrites = () => Promise<string[]>;

/**
 * A case opens if something is owed, and ends if nothing is. While facts contradict each other, undelivered retries are
 * withdrawn.
 *
 * @param context  null: no case is opened
 * @param causingAttemptIds  as in `findOwedInvoices`
 */
export async function applyReview(
  tx: Tx,
  merchantId: string,
  reviewed: readonly InvoiceReview[],
  context: OpeningContext | null,
  ports: Ports,
  causingAttemptIds: ReadonlySet<string> | null,
): Promise<FinalWrites> {
  if (reviewed.length === 0) return async () => [];
  const now = ports.now();
  const conflicts = listConflicts(reviewed, now);
  const contradictedIds = new Set(conflicts.map(({ invoiceId }) => invoiceId));
  const clearIds = reviewed.map(({ invoice }) => invoice.id).filter((id) => !contradictedIds.has(id));
  const endedCases = findEndedByBalance(reviewed);
  const waiting = listWaitingCases(reviewed);
  const opened = context && (await prepareOpening(tx, reviewed, context, now, ports, causingAttemptIds));
  return async () => {
    const [withdrawn, retries] = await Promise.all([
      endedCases.length === 0 ? [] : endAndWithdraw(tx, merchantId, endedCases, now, ports),
      waiting.length === 0 ? [] : withdrawRetries(tx, merchantId, waiting, now),
      clearIds.length > 0 && clearConflicts(tx, merchantId, clearIds),
      conflicts.length > 0 && saveConflicts(tx, merchantId, conflicts),
      opened && openCases(tx, merchantId, opened.assigned, ports.newId()),
      opened?.enroll(),
    ]);
    return [...withdrawn, ...retries];
  };
}

async function endAndWithdraw(tx: Tx, merchantId: string, endedCases: readonly EndedCase[], now: Date, ports: Ports) {
  const ids = endedCases.map(({ id }) => id);
  const [, withdrawn] = await Promise.all([
    endCases(tx, merchantId, endedCases, now, ports.newId()),
    withdrawEvents(tx, merchantId, ids, [], now),
  ]);
  return withdrawn;
}

async function prepareOpening(
  tx: Tx,
  reviewed: readonly InvoiceReview[],
  { settings, experiment, rules }: OpeningContext,
  now: Date,
  ports: Ports,
  causingAttemptIds: ReadonlySet<string> | null,
) {
  const invoices = reviewed.map(({ invoice }) => invoice);
  const since = new Date(now.getTime() - LEDGER_WINDOW_MS);
  const ruleByInvoice = await findOpeningRules(tx, settings.id, rules, invoices, since);
  const ruleOf = (invoiceId: string) => buildCaseRule(ruleByInvoice.get(invoiceId) ?? null, settings);
  const windowDaysOf = (invoiceId: string) => ruleOf(invoiceId).windowDays;
  const cases = findOwedInvoices(reviewed, windowDaysOf, now, causingAttemptIds)
    .map((owedInvoice) => buildNewCase(owedInvoice, ruleOf(owedInvoice.invoice.id), now, ports))
    .filter(({ windowEndsAt }) => windowEndsAt > now);
  return cases.length === 0 ? null : assignArms(tx, settings, experiment, cases);
}

const buildNewCase = (
  { invoice, unpaidAmount, unpaidAt }: OwedInvoice,
  { windowDays, ...rule }: ReturnType<typeof buildCaseRule>,
  now: Date,
  ports: Ports,
) => ({
  id: ports.newId(),
  invoiceId: invoice.id,
  customerId: invoice.customerId,
  subscriptionId: invoice.subscriptionId ?? null,
  amount: unpaidAmount,
  currency: invoice.currency,
  unpaidAt,
  windowEndsAt: new Date(unpaidAt.getTime() + windowDays * DAY_MS),
  openedAt: now,
  ...rule,
});
