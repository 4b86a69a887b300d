import { DAY_MS } from "../domain/durations.ts";
import type { Experiment } from "../domain/experiment.ts";
import type { Merchant } from "../domain/merchant.ts";
import { type Assignment, assignArm } from "../experiments/statistics/assignment.ts";
import type { Tx } from "../postgres/database.ts";
import type { NewCase } from "../tables/cases.ts";
import { armsOfCustomers, enrollInvoices } from "../tables/experiment-invoices.ts";

/**
 * Assigns arms to cases about to be opened: by customer if an experiment runs.
 *
 * @param experiment  the running one. It excludes invoices that failed before it began, and cases in shadow mode
 * @returns the cases with their arms, and `enroll`: call it in the opening transaction to add their invoices to the experiment
 */
export async function assignArms(
  tx: Tx,
  { id: merchantId, shadow }: Pick<Merchant, "id" | "shadow">,
  experiment: Experiment | null,
  cases: readonly Omit<NewCase, "arm">[],
): Promise<{ assigned: NewCase[]; enroll(): Promise<void> }> {
  const isEligible = ({ unpaidAt }: Pick<NewCase, "unpaidAt">) =>
    !shadow && experiment !== null && unpaidAt >= experiment.startedAt;
  const armOutside = shadow ? "shadow" : "dunlin";
  const eligibleCases = cases.filter(isEligible);
  if (!experiment || eligibleCases.length === 0)
    return { assigned: cases.map((recoveryCase) => ({ ...recoveryCase, arm: armOutside })), async enroll() {} };
  const assignments = await loadOrDrawAssignments(tx, merchantId, experiment, eligibleCases);
  const enrollments = eligibleCases.map((recoveryCase, index) => ({
    recoveryCase,
    phase: recoveryCase.unpaidAt < experiment.comparedFrom ? ("calibration" as const) : ("comparison" as const),
    ...assignments[index]!,
  }));
  const arms = new Map(
    enrollments.map(({ recoveryCase, phase, arm }) => [recoveryCase.id, phase === "calibration" ? "merchant" : arm]),
  );
  return {
    assigned: cases.map((recoveryCase) => ({ ...recoveryCase, arm: arms.get(recoveryCase.id) ?? armOutside })),
    enroll: () =>
      enrollInvoices(
        tx,
        merchantId,
        experiment.id,
        enrollments.map(({ recoveryCase, ...assignment }) => ({
          ...assignment,
          caseId: recoveryCase.id,
          invoiceId: recoveryCase.invoiceId,
          customerId: recoveryCase.customerId,
          amount: recoveryCase.amount,
          currency: recoveryCase.currency,
          failedAt: recoveryCase.unpaidAt,
          countsAt: new Date(recoveryCase.unpaidAt.getTime() + experiment.maturityDays * DAY_MS),
        })),
      ),
  };
}

/** A customer keeps the stored arm; a new one gets an arm at random. */
async function loadOrDrawAssignments(
  tx: Tx,
  merchantId: string,
  experiment: Experiment,
  cases: readonly Pick<NewCase, "customerId">[],
): Promise<Assignment[]> {
  const customerIds = [...new Set(cases.map(({ customerId }) => customerId))];
  const stored = new Map<string, Assignment>(
    (await armsOfCustomers(tx, merchantId, experiment.id, customerIds)).map(({ customerId, arm, half }) => [
      customerId,
      { arm, half },
    ]),
  );
  return cases.map(({ customerId }) => stored.get(customerId) ?? assignArm(experiment, customerId));
}
