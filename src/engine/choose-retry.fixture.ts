import type { RetryContext } from "./choose-retry.ts";
import { type CasePosterior, newCasePosterior, newCustomerPosterior } from "./learned/case-posterior.ts";
import { newFirstRetryCounts } from "./learned/first-retry-counts.ts";
import { type LearnedModel, newLearnedModel } from "./learned/learned-model.ts";
import { type Reason, rowStart, WEIGHT_STARTS } from "./learned/model-layout.ts";
import { IMMEDIATE } from "./learned/settlement.ts";

export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;
export const START = Date.UTC(2026, 3, 6, 10);
export const ISSUER_ROW = rowStart("issuer", "a bank");
/** Has seen many first retries at all times, so it does not explore them. */
export const trainedModel: LearnedModel = { ...newLearnedModel(), firsts: newFirstRetryCounts().fill(1e6) };

export function buildPosterior(reason: Reason): CasePosterior {
  const names = new Int32Array(0);
  const facts = {
    reason,
    code: null,
    standing: 1,
    features: names,
    codeFeature: WEIGHT_STARTS.name,
    rows: Int32Array.of(ISSUER_ROW),
    clock: { offsetMs: 2 * HOUR, booking: IMMEDIATE },
    failedAt: START,
    recent: [START],
  };
  return newCasePosterior(trainedModel, newCustomerPosterior(trainedModel, "DE"), facts);
}
export const buildRetryContext = ({
  windowEndsAt = START + 28 * DAY,
  ...rest
}: Partial<RetryContext> = {}): RetryContext => ({
  key: "case 1",
  now: START,
  windowEndsAt,
  windowMs: windowEndsAt - START,
  retriesLeft: 6,
  explores: true,
  allow: () => true,
  limits: [],
  dollars: 24,
  retryValue: { valueAt: (at) => 1 - (0.004 * (at - START)) / DAY, cost: 0.008 },
  ...rest,
});
