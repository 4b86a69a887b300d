import type { Tx } from "../postgres/database.ts";
import { longestWindowDays } from "../tables/recovery-rules.ts";

/** Leaves time for payments from the last days of the window to be reported. */
export const REPORTING_GRACE_DAYS = 7;

/** Days after which a failed invoice counts in rates: each had the time to be paid then, also under a rule with a longer window. */
export const readMaturityDays = async (tx: Tx, merchantId: string): Promise<number> =>
  (await longestWindowDays(tx, merchantId)) + REPORTING_GRACE_DAYS;
