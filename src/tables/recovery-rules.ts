import type { Case } from "../domain/case.ts";
import type { NumberedRule, RecoveryRule } from "../domain/recovery-rule.ts";
import { prepared, type Tx } from "../postgres/database.ts";
import { SELECTED_CASE } from "./cases.ts";

const LIST = prepared(
  "list_recovery_rules",
  `select id, name, conditions, leave_out as "leaveOut", window_days as "windowDays", budget, lead_ms as "leadMs", quiet
   from recovery_rules where merchant_id = $1 order by position`,
);

/** In order. */
export async function listRecoveryRules(tx: Tx, merchantId: string): Promise<NumberedRule[]> {
  const { rows } = await tx.run<RecoveryRule>(LIST, [merchantId]);
  return rows.map((rule, index) => ({ ...rule, number: index + 1 }));
}

const LONGEST_WINDOW = prepared(
  "longest_recovery_window",
  `select greatest(window_days, (select max(window_days) from recovery_rules where merchant_id = $1 and not leave_out)) as days
   from merchants where id = $1`,
);

/** The longest recovery window that an invoice may get from the merchant's settings or rules. */
export async function longestWindowDays(tx: Tx, merchantId: string): Promise<number> {
  return (await tx.run<{ days: number }>(LONGEST_WINDOW, [merchantId])).rows[0]?.days ?? 0;
}

const DELETE_OTHERS = prepared(
  "delete_other_recovery_rules",
  "delete from recovery_rules where merchant_id = $1 and id <> all($2::uuid[])",
);
// Positions are unique, so that two lists never mix. They are cleared first, because an update checks each row at once.
const CLEAR_POSITIONS = prepared(
  "clear_recovery_rule_positions",
  "update recovery_rules set position = -position where merchant_id = $1",
);
const SAVE = prepared(
  "save_recovery_rule",
  `insert into recovery_rules
     (merchant_id, id, position, name, conditions, leave_out, window_days, budget, lead_ms, quiet, created_at, updated_at)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11)
   on conflict (merchant_id, id) do update set
     position = excluded.position, name = excluded.name, conditions = excluded.conditions, leave_out = excluded.leave_out,
     window_days = excluded.window_days, budget = excluded.budget, lead_ms = excluded.lead_ms, quiet = excluded.quiet,
     updated_at = excluded.updated_at`,
);

/** Replaces the whole list. The caller has locked the merchant. */
export async function replaceRecoveryRules(tx: Tx, merchantId: string, rules: readonly RecoveryRule[], now: Date) {
  await tx.run(DELETE_OTHERS, [merchantId, rules.map(({ id }) => id)]);
  await tx.run(CLEAR_POSITIONS, [merchantId]);
  for (const [index, rule] of rules.entries()) {
    const { id, name, conditions, leaveOut, windowDays, budget, leadMs, quiet } = rule;
    const outcomes = [leaveOut, windowDays, budget, leadMs, quiet && JSON.stringify(quiet)];
    await tx.run(SAVE, [merchantId, id, index + 1, name, JSON.stringify(conditions), ...outcomes, now]);
  }
}

const NAMED = `merchant_id = $1 and conditions->'customerIds' ? $2`;
const DELETE_OF_CUSTOMER = prepared(
  "delete_recovery_rules_of_customer",
  `delete from recovery_rules where ${NAMED} and jsonb_array_length(conditions->'customerIds') = 1`,
);
const FORGET_CUSTOMER = prepared(
  "forget_customer_in_recovery_rules",
  `update recovery_rules set conditions = jsonb_set(conditions, '{customerIds}', (conditions->'customerIds') - $2)
   where ${NAMED}`,
);

/** A rule for this customer alone is deleted: without the condition it would fit every invoice. */
export async function forgetCustomerInRules(tx: Tx, merchantId: string, customerId: string) {
  await tx.run(DELETE_OF_CUSTOMER, [merchantId, customerId]);
  await tx.run(FORGET_CUSTOMER, [merchantId, customerId]);
}

const OPEN_CASES = prepared(
  "open_cases_after_invoice",
  `select ${SELECTED_CASE} from cases where merchant_id = $1 and ended_at is null and invoice_id > $2
   order by invoice_id limit $3`,
);

/** Ordered by invoice. @param after  an invoice's id; "" for the first page */
export async function openCasesAfter(tx: Tx, merchantId: string, after: string, limit: number) {
  return (await tx.run<Case>(OPEN_CASES, [merchantId, after, limit])).rows;
}

const PLANNED = prepared(
  "planned_retries_of_cases",
  `select case_id as "caseId", ideal_retry_time as at from recovery_actions
   where merchant_id = $1 and case_id = any($2::uuid[]) and type = 'RETRY' and status = 'SCHEDULED' and decided_at is null`,
);

/** Retries that are planned and not requested yet. */
export async function plannedRetries(tx: Tx, merchantId: string, caseIds: readonly string[]) {
  return (await tx.run<{ caseId: string; at: Date }>(PLANNED, [merchantId, caseIds])).rows;
}

const LEFT_OUT = prepared(
  "cases_left_out_by_rule",
  `select rule_id as "ruleId", count(*) as n from cases
   where merchant_id = $1 and ended_at >= $2 and end_reason = 'left_out' and rule_id is not null group by 1`,
);

/** How many cases each rule ended since a time because it leaves their invoices out; without an entry none. */
export async function countLeftOut(tx: Tx, merchantId: string, since: Date): Promise<Map<string, number>> {
  const { rows } = await tx.run<{ ruleId: string; n: number }>(LEFT_OUT, [merchantId, since]);
  return new Map(rows.map(({ ruleId, n }) => [ruleId, n]));
}

export interface RuleTotal {
  /** Null: no rule fits. */
  ruleId: string | null;
  currency: string;
  cases: number;
  amount: number;
}

const TOTALS = prepared(
  "open_cases_by_rule",
  `select rule_id as "ruleId", currency, count(*) as cases, sum(amount)::int8 as amount from cases
   where merchant_id = $1 and ended_at is null group by rule_id, currency order by currency`,
);

/** Open cases by the rule that decides them. */
export async function totalsByRule(tx: Tx, merchantId: string) {
  return (await tx.run<RuleTotal>(TOTALS, [merchantId])).rows;
}
