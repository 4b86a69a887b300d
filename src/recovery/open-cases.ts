import { DAY_MS } from "../domain/durations.ts";
import type { Merchant } from "../domain/merchant.ts";
import type { Ports } from "../domain/ports.ts";
import type { Tx } from "../postgres/database.ts";
import { type EndedCase, endCases, openCases } from "../tables/cases.ts";
import { withdrawEvents, withdrawRetries } from "../tables/events.ts";
import { runningExperiment } from "../tables/experiments.ts";
import { clearConflicts, saveConflicts } from "../tables/invoice-conflicts.ts";
import { findMerchant } from "../tables/merchants.ts";
import { assignArms } from "./assign-arms.ts";
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
}

/** Reads in the transaction that opens cases: a case keeps the settings, and a request may hold some that are seconds old. */
export async function loadOpeningContext(tx: Tx, merchantId: string): Promise<OpeningContext | null> {
  const [settings, experiment] = await Promise.all([findMerchant(tx, merchantId), runningExperiment(tx, merchantId)]);
  return settings && { settings, experiment };
}

/** Runs the last statements, sent together with the commit. Returns withdrawn events. */
export type FinalWrites = () => Promise<string[]>;

/**
 * A case opens if something is owed, and ends if nothing is. While facts contradict each other, undelivered retries are
 * withdrawn.
 *
 * @param beginning  null: no case is opened
 * @param broughtBy  as in `findOwedInvoices`
 */
export async function applyReview(
  tx: Tx,
  merchantId: string,
  reviewed: readonly InvoiceReview[],
  beginning: OpeningContext | null,
  ports: Ports,
  broughtBy: ReadonlySet<string> | null,
): Promise<FinalWrites> {
  if (reviewed.length === 0) return async () => [];
  const now = ports.now();
  const conflicts = listConflicts(reviewed, now);
  const contradicted = new Set(conflicts.map(({ invoiceId }) => invoiceId));
  const clear = reviewed.map(({ invoice }) => invoice.id).filter((id) => !contradicted.has(id));
  const ended = findEndedByBalance(reviewed);
  const waiting = listWaitingCases(reviewed);
  const owed = beginning ? findOwedInvoices(reviewed, beginning.settings.windowDays, now, broughtBy) : [];
  const opened = await prepareOpening(tx, owed, beginning, now, ports);
  return async () => {
    const [withdrawn, retries] = await Promise.all([
      ended.length === 0 ? [] : endAndWithdraw(tx, merchantId, ended, now, ports),
      waiting.length === 0 ? [] : withdrawRetries(tx, merchantId, waiting, now),
      clear.length > 0 && clearConflicts(tx, merchantId, clear),
      conflicts.length > 0 && saveConflicts(tx, merchantId, conflicts),
      opened && openCases(tx, merchantId, opened.assigned, ports.newId()),
      opened?.enter(),
    ]);
    return [...withdrawn, ...retries];
  };
}

async function endAndWithdraw(tx: Tx, merchantId: string, ended: readonly EndedCase[], now: Date, ports: Ports) {
  const ids = ended.map(({ id }) => id);
  const [, withdrawn] = await Promise.all([
    endCases(tx, merchantId, ended, now, ports.newId()),
    withdrawEvents(tx, merchantId, ids, [], now),
  ]);
  return withdrawn;
}

async function prepareOpening(
  tx: Tx,
  owed: readonly OwedInvoice[],
  beginning: OpeningContext | null,
  now: Date,
  ports: Ports,
) {
  if (!beginning) return null;
  const { settings, experiment } = beginning;
  const cases = owed
    .map((each) => buildNewCase(each, settings, now, ports))
    .filter(({ windowEndsAt }) => windowEndsAt > now);
  return cases.length === 0 ? null : assignArms(tx, settings, experiment, cases);
}

const buildNewCase = ({ invoice, left, unpaidAt }: OwedInvoice, merchant: Merchant, now: Date, ports: Ports) => ({
  id: ports.newId(),
  invoiceId: invoice.id,
  customerId: invoice.customerId,
  subscriptionId: invoice.subscriptionId ?? null,
  amount: left,
  currency: invoice.currency,
  unpaidAt,
  windowEndsAt: new Date(unpaidAt.getTime() + merchant.windowDays * DAY_MS),
  budget: merchant.budget,
  openedAt: now,
});
