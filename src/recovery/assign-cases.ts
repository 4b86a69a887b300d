import { DAY_MS } from "../domain/durations.ts";
import type { Experiment } from "../domain/experiment.ts";
import type { Merchant } from "../domain/merchant.ts";
import { type Assignment, assign } from "../experiments/assignment.ts";
import type { NewCase } from "../store/cases.ts";
import type { Tx } from "../store/database.ts";
import { armsOfCustomers, enterInvoices } from "../store/experiment-invoices.ts";

/**
 * Gives cases that are about to be opened their arms: by the customer where an experiment runs.
 *
 * @param experiment  the one that runs. Cases that begin in shadow mode belong to none: Dunlin asks for nothing in them
 * @returns the cases with their arms; and `enter`, to be called in the same transaction when they are opened, which puts their
 *   invoices into the experiment
 */
export async function assignCases(
  tx: Tx,
  { id: merchantId, shadow }: Pick<Merchant, "id" | "shadow">,
  experiment: Experiment | null,
  cases: readonly Omit<NewCase, "arm">[],
): Promise<{ assigned: NewCase[]; enter(): Promise<void> }> {
  if (shadow || !experiment)
    return { assigned: cases.map((kase) => ({ ...kase, arm: shadow ? "shadow" : "dunlin" })), async enter() {} };
  const assignments = await assignmentsOf(tx, merchantId, experiment, cases);
  const phaseOf = (kase: Pick<NewCase, "openedAt">) =>
    kase.openedAt < experiment.comparedFrom ? "calibration" : "comparison";
  return {
    assigned: cases.map((kase, index) => ({
      ...kase,
      arm: phaseOf(kase) === "calibration" ? "merchant" : assignments[index]!.arm,
    })),
    enter: () =>
      enterInvoices(
        tx,
        merchantId,
        experiment.id,
        cases.map((kase, index) => ({
          caseId: kase.id,
          invoiceId: kase.invoiceId,
          customerId: kase.customerId,
          ...assignments[index]!,
          phase: phaseOf(kase),
          amount: kase.amount,
          currency: kase.currency,
          failedAt: kase.unpaidAt,
          countsAt: new Date(kase.unpaidAt.getTime() + experiment.maturityDays * DAY_MS),
        })),
      ),
  };
}

/** What is stored of a customer stays; who is new to the experiment is drawn. */
async function assignmentsOf(
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
  return cases.map(({ customerId }) => stored.get(customerId) ?? assign(experiment, customerId));
}
