import type { ReadOptions } from "./recovery-actions.ts";
import type { RecoveryBreakdown } from "./recovery-breakdown.ts";
import type { Request } from "./request.ts";

/** The parameters of the operation; an empty filter stands for an unknown value. */
export interface AnalyticsFilter {
  by?: RecoveryBreakdown["by"];
  /** ISO 8601; invoices that first failed from then on. */
  from?: string;
  /** ISO 8601, exclusive. */
  to?: string;
  timeZone?: string;
  reason?: string;
  code?: string;
  method?: string;
  country?: string;
  issuer?: string;
  plan?: string;
  amount?: string;
  currency?: string;
}

export interface AnalyticsRequests {
  /** Returns what failed and what was recovered, by one dimension. */
  recovery(filter?: AnalyticsFilter, options?: ReadOptions): Promise<RecoveryBreakdown>;
}

export const createAnalytics = (request: Request): AnalyticsRequests => ({
  async recovery(filter = {}, { signal } = {}) {
    const query = new URLSearchParams(
      Object.entries(filter).filter((entry): entry is [string, string] => entry[1] !== undefined),
    );
    const path = query.size === 0 ? "/v1/analytics/recovery" : `/v1/analytics/recovery?${query}`;
    return (await request("GET", path, undefined, signal)) as unknown as RecoveryBreakdown;
  },
});
