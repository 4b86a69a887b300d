import type { CaseTraits } from "../domain/case-traits.ts";
import { findAmountBand } from "../domain/currency.ts";
import { HOUR_MS } from "../domain/durations.ts";
import type { RecoveryAction } from "../domain/recovery-action.ts";
import { findCustomerLocale } from "../engine/customer-locale.ts";
import { localDay, offsetMs, type Zone } from "../engine/local-time.ts";
import { findDeclineGroup } from "../engine/rules/interpret-decline.ts";
import { isUnsent } from "../engine/rules/unsent-attempts.ts";
import type { TransactionFacts } from "../tables/transactions.ts";
import { declineCodesOf, instrumentOf } from "./build-decision-facts.ts";
import type { LoadedCase } from "./loaded-case.ts";
import { paymentProfileOf } from "./payment-profile.ts";

/** An invoice is often reported unpaid some time after the attempt that failed. */
const REPORT_DELAY_MS = 24 * HOUR_MS;

/** @param actions  the case's, with their outcomes by now */
export function buildCaseTraits(view: LoadedCase, actions: readonly RecoveryAction[]): CaseTraits {
  const decline = findFirstDecline(view);
  const codes = decline && declineCodesOf(decline);
  const instrument = decline && instrumentOf(decline);
  const { zone } = findCustomerLocale({
    ...instrumentOf(paymentProfileOf(view)),
    customerTimezone: paymentProfileOf(view).customerTimezone ?? null,
    currency: view.invoice.currency,
  });
  return {
    declineGroup: codes && instrument ? findDeclineGroup(codes, instrument) : null,
    declineCode: codes && (codes.networkDeclineCode ?? codes.gatewayCode),
    paymentMethod: instrument && (instrument.network?.toLowerCase() ?? instrument.paymentMethodType),
    cardCountry: decline?.cardCountry ?? null,
    cardIssuer: decline?.cardIssuer ?? null,
    planId: view.subscription?.planId ?? null,
    amountBand: findAmountBand(view.case.amount, view.case.currency),
    tries: listTries(actions, zone),
  };
}

/** Prefers the attempts of this case: an invoice that becomes unpaid again has earlier ones. */
function findFirstDecline({ case: { unpaidAt }, invoice, transactions }: LoadedCase): TransactionFacts | null {
  const declines = transactions.filter(
    (t) => t.invoiceId === invoice.id && t.state === "FAILED" && t.amount > 0 && !isUnsent(t),
  );
  const since = unpaidAt.getTime() - REPORT_DELAY_MS;
  return declines.find(({ createdAt }) => createdAt.getTime() >= since) ?? declines[0] ?? null;
}

function listTries(actions: readonly RecoveryAction[], zone: Zone): CaseTraits["tries"] {
  return actions
    .filter(({ type, executedAt }) => type === "RETRY" && executedAt !== null)
    .map(({ attemptedAt, executedAt, status }) => ({ at: (attemptedAt ?? executedAt)!.getTime(), status }))
    .sort((a, b) => a.at - b.at)
    .map(({ at, status }) => ({ hourOfWeek: hourOfWeek(zone, at), isPaid: status === "SUCCEEDED" }));
}

function hourOfWeek(zone: Zone, at: number): number {
  const daysSinceMonday = (localDay(zone, at).weekday + 6) % 7;
  return daysSinceMonday * 24 + new Date(at + offsetMs(zone, at)).getUTCHours();
}
