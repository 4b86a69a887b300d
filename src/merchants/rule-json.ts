import { MINUTE_MS } from "../domain/durations.ts";
import type { RecoveryRule } from "../domain/recovery-rule.ts";
import type { RuleJson } from "./parse-recovery-rules.ts";

/** As merchants write it, in a fixed order; undefined outcomes and conditions are absent in JSON. */
export const toRuleJson = ({ id, name, conditions, leaveOut, windowDays, budget, leadMs, quiet }: RecoveryRule) =>
  ({
    ...{ id, name, planIds: conditions.planIds, businessEntities: conditions.businessEntities },
    ...{ cardCountries: conditions.cardCountries, currencies: conditions.currencies },
    ...{ amountFrom: conditions.amountFrom, amountTo: conditions.amountTo, customerIds: conditions.customerIds },
    leaveOut,
    windowDays: windowDays ?? undefined,
    budget: budget ?? undefined,
    leadMinutes: leadMs === null ? undefined : leadMs / MINUTE_MS,
    quietWeekdays: quiet && quiet.weekdays.length > 0 ? quiet.weekdays : undefined,
    quietDates: quiet && quiet.dates.length > 0 ? quiet.dates : undefined,
    quietFromHour: quiet?.hours?.from,
    quietToHour: quiet?.hours?.to,
  }) satisfies RuleJson;
