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
 * @returns the cases with their arms, and `enter`: call it in the opening transaction to add their invoices to the experiment
 */
export async function assignArms(
  tx: Tx,
  { id: merchantId, shadow }: Pick<Merchant, "id" | "shadow">,
  experiment: Experiment | null,
  cases: readonly Omit<NewCase, "arm">[],
): Promise<{ assigned: NewCase[]; enter(): Promise<void> }> {
  const isIn = ({ unpaidAt }: Pick<NewCase, "unpaidAt">) =>
    !shadow && experiment !== null && unpaidAt >= experiment.startedAt;
  const outside = shadow ? "shadow" : "dunlin";
  const entering = cases.filter(isIn);
  if (!experiment || entering.length === 0)
    return { assigned: cases.map((kase) => ({ ...kase, arm: outside })), async enter() {} };
  const assignments = await loadOrDrawAssignments(tx, merchantId, experiment, entering);
  const entered = entering.map((kase, index) => ({
    kase,
    phase: kase.unpaidAt < experiment.comparedFrom ? ("calibration" as const) : ("comparison" as const),
    ...assignments[index]!,
  }));
  const arms = new Map(entered.map(({ kase, phase, arm }) => [kase.id, phase === "calibration" ? "merchant" : arm]));
  return {
    assigned: cases.map((kase) => ({ ...kase, arm: arms.get(kase.id) ?? outside })),
    enter: () =>
      enrollInvoices(
        tx,
        merchantId,
        experiment.id,
        entered.map(({ kase, ...where }) => ({
          ...where,
          caseId: kase.id,
          invoiceId: kase.invoiceId,
          customerId: kase.customerId,
          amount: kase.amount,
          currency: kase.currency,
          failedAt: kase.unpaidAt,
          countsAt: new Date(kase.unpaidAt.getTime() + experiment.maturityDays * DAY_MS),
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
