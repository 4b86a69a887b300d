import { DAY_MS } from "../domain/durations.ts";
import { COUNT_MEASURE, type Experiment } from "../domain/experiment.ts";
import type { Merchant } from "../domain/merchant.ts";
import type { Actor } from "../domain/person.ts";
import type { Ports } from "../domain/ports.ts";
import type { Tx } from "../postgres/database.ts";
import { writeAuditEntry } from "../tables/audit-log.ts";
import { insertExperiment, stopExperiment } from "../tables/experiments.ts";
import { lockMerchant } from "../tables/merchants.ts";
import { readMaturityDays } from "./maturity.ts";

const MAX_MATURITY_DAYS = 365;

export interface ExperimentPlan {
  name: string;
  /** 0.5: half of the customers. */
  share?: number | undefined;
  calibrationDays?: number | undefined;
  maturityDays?: number | undefined;
  /** `count` or a currency code. */
  primary?: string | undefined;
  margin?: number | undefined;
}

/** Fills in the defaults. @param usualMaturityDays  from `readMaturityDays` */
export const plannedExperiment = (
  plan: ExperimentPlan,
  usualMaturityDays: number,
  startedAt: Date,
): Omit<Experiment, "id" | "salt"> => ({
  name: plan.name,
  share: plan.share ?? 0.5,
  startedAt,
  comparedFrom: new Date(startedAt.getTime() + (plan.calibrationDays ?? 0) * DAY_MS),
  stoppedAt: null,
  maturityDays: plan.maturityDays ?? Math.min(usualMaturityDays, MAX_MATURITY_DAYS),
  primary: plan.primary ?? COUNT_MEASURE,
  margin: plan.margin ?? 0.03,
});

const shadowModeMessage = ({ name }: Merchant) =>
  `${name} is in shadow mode: Dunlin sends nothing to its endpoint, so an experiment has nothing to compare. Turn shadow mode off first.`;

/**
 * Starts an experiment, logs it in the audit log, and assigns it the invoices that fail from now on.
 *
 * @returns null if another experiment runs; a message if the merchant is in shadow mode
 */
export async function startExperiment(
  tx: Tx,
  merchantId: string,
  plan: ExperimentPlan,
  actor: Actor,
  ports: Ports,
): Promise<Experiment | string | null> {
  // The lock keeps shadow mode from starting at the same time.
  const merchant = (await lockMerchant(tx, merchantId))!;
  if (merchant.shadow) return shadowModeMessage(merchant);
  const experiment: Experiment = {
    ...plannedExperiment(plan, await readMaturityDays(tx, merchantId), ports.now()),
    id: ports.newId(),
    salt: ports.randomBytes(16).toString("hex"),
  };
  if (!(await insertExperiment(tx, merchant.id, experiment))) return null;
  const { share, comparedFrom, maturityDays, primary, margin } = experiment;
  const details = {
    share: `${toPercent(share)}%`,
    "compared from": comparedFrom,
    "counts after": `${maturityDays} days`,
    "verdict on": primary === COUNT_MEASURE ? "recovered invoices" : `recovered ${primary}`,
    matters: `${toPercent(margin)} points`,
  };
  await writeAuditEntry(
    tx,
    merchant.id,
    actor,
    { operation: "experiment.started", object: experiment.name, details },
    ports,
  );
  return experiment;
}

/** Rounds away binary fractions: 0.025 is 2.5. */
const toPercent = (share: number) => Number((share * 100).toFixed(4));

/** Stops the running experiment, which gets no more invoices, and logs it in the audit log. Returns null if none runs. */
export async function stopRunningExperiment(
  tx: Tx,
  merchantId: string,
  actor: Actor,
  ports: Ports,
  details: Record<string, unknown> = {},
): Promise<Experiment | null> {
  const stopped = await stopExperiment(tx, merchantId, ports.now());
  if (stopped)
    await writeAuditEntry(
      tx,
      merchantId,
      actor,
      { operation: "experiment.stopped", object: stopped.name, details },
      ports,
    );
  return stopped;
}
