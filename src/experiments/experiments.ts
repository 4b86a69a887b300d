import { DAY_MS } from "../domain/durations.ts";
import { COUNT_MEASURE, type Experiment } from "../domain/experiment.ts";
import type { Merchant } from "../domain/merchant.ts";
import type { Actor } from "../domain/person.ts";
import type { Ports } from "../domain/ports.ts";
import type { Tx } from "../postgres/database.ts";
import { writeAuditEntry } from "../tables/audit-log.ts";
import { insertExperiment, stopExperiment } from "../tables/experiments.ts";
import { lockMerchant } from "../tables/merchants.ts";

/** After the window: payments that were made in its last days have arrived by then. */
export const REPORTING_GRACE_DAYS = 7;
const MAX_MATURITY_DAYS = 365;

/** What may be chosen of an experiment; the rest follows. */
export interface ExperimentPlan {
  name: string;
  /** 0.5: half of the customers. */
  share?: number | undefined;
  calibrationDays?: number | undefined;
  maturityDays?: number | undefined;
  /** `count`, or the code of a currency. */
  primary?: string | undefined;
  margin?: number | undefined;
}

/** Why no experiment can start. */
const shadowModeMessage = ({ name }: Merchant) =>
  `${name} is in shadow mode, in which Dunlin asks for nothing, so there is nothing to compare.`;

/**
 * Start an experiment: invoices that fail from now on belong to it. Who did is in the audit log.
 *
 * @param tx  a transaction
 * @returns null when the merchant has one that runs: two would disturb each other; a sentence that says why, when it is in shadow mode
 */
export async function startExperiment(
  tx: Tx,
  merchantId: string,
  plan: ExperimentPlan,
  actor: Actor,
  ports: Ports,
): Promise<Experiment | string | null> {
  // Held, so that shadow mode cannot begin meanwhile.
  const merchant = (await lockMerchant(tx, merchantId))!;
  if (merchant.shadow) return shadowModeMessage(merchant);
  const startedAt = ports.now();
  const experiment: Experiment = {
    id: ports.newId(),
    name: plan.name,
    salt: ports.randomBytes(16).toString("hex"),
    share: plan.share ?? 0.5,
    startedAt,
    comparedFrom: new Date(startedAt.getTime() + (plan.calibrationDays ?? 0) * DAY_MS),
    stoppedAt: null,
    maturityDays: plan.maturityDays ?? Math.min(merchant.windowDays + REPORTING_GRACE_DAYS, MAX_MATURITY_DAYS),
    primary: plan.primary ?? COUNT_MEASURE,
    margin: plan.margin ?? 0.03,
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
    { deed: "experiment.started", object: experiment.name, details },
    ports,
  );
  return experiment;
}

/** 0.025 is 2.5, whatever the product of the two is in binary. */
const toPercent = (share: number) => Number((share * 100).toFixed(4));

/**
 * Stop the experiment that runs: it takes no new invoices. Who did is in the audit log.
 *
 * @param tx  a transaction
 * @param details  what else the log says
 * @returns null when none runs
 */
export async function stopRunningExperiment(
  tx: Tx,
  merchantId: string,
  actor: Actor,
  ports: Ports,
  details: Record<string, unknown> = {},
): Promise<Experiment | null> {
  const stopped = await stopExperiment(tx, merchantId, ports.now());
  if (stopped)
    await writeAuditEntry(tx, merchantId, actor, { deed: "experiment.stopped", object: stopped.name, details }, ports);
  return stopped;
}
