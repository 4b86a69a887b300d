import { COUNT, type Experiment } from "../domain/experiment.ts";
import type { Merchant } from "../domain/merchant.ts";
import type { Ports } from "../domain/ports.ts";
import type { Tx } from "../store/database.ts";
import { insertExperiment } from "../store/experiments.ts";

const DAY_MS = 86_400_000;
/** After the window: payments that were made in its last days have arrived by then. */
const AFTER_WINDOW_DAYS = 7;
const MATURITY_MAX_DAYS = 365;

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
export const inShadow = ({ name }: Merchant) =>
  `${name} is in shadow mode, in which Dunlin asks for nothing, so there is nothing to compare.`;

/**
 * Start an experiment: invoices that fail from now on belong to it.
 *
 * @returns null when the merchant has one that runs: two would disturb each other
 */
export async function startExperiment(
  tx: Tx,
  merchant: Merchant,
  plan: ExperimentPlan,
  ports: Ports,
): Promise<Experiment | null> {
  const startedAt = ports.now();
  const experiment: Experiment = {
    id: ports.newId(),
    name: plan.name,
    salt: ports.randomBytes(16).toString("hex"),
    share: plan.share ?? 0.5,
    startedAt,
    comparedFrom: new Date(startedAt.getTime() + (plan.calibrationDays ?? 0) * DAY_MS),
    stoppedAt: null,
    maturityDays: plan.maturityDays ?? Math.min(merchant.windowDays + AFTER_WINDOW_DAYS, MATURITY_MAX_DAYS),
    primary: plan.primary ?? COUNT,
    margin: plan.margin ?? 0.03,
  };
  return (await insertExperiment(tx, merchant.id, experiment)) ? experiment : null;
}
