import { isDeepStrictEqual } from "node:util";
import type { Actor } from "../domain/person.ts";
import type { Ports } from "../domain/ports.ts";
import type { NumberedRule, RecoveryRule } from "../domain/recovery-rule.ts";
import type { Database, Tx } from "../postgres/database.ts";
import { writeAuditEntry } from "../tables/audit-log.ts";
import { lockMerchant } from "../tables/merchants.ts";
import { listRecoveryRules, replaceRecoveryRules } from "../tables/recovery-rules.ts";
import { enqueueOpenCases } from "../tables/reevaluation-queue.ts";
import type { ProposedRule } from "./parse-recovery-rules.ts";
import { describeRules } from "./rules-wording.ts";

/**
 * Replaces the list of rules, and queues the open cases for reevaluation. Nothing is written if the list stays the same.
 *
 * @param check  throws to refuse the change, by the rules before it
 * @returns the new list; null if there is no such merchant
 */
export async function changeRecoveryRules(
  db: Database,
  merchantId: string,
  proposed: readonly ProposedRule[],
  actor: Actor,
  ports: Ports,
  check: (before: readonly NumberedRule[]) => void = () => {},
): Promise<NumberedRule[] | null> {
  return db.transaction(async (tx) => {
    // Two changes at once would mix their lists.
    if (!(await lockMerchant(tx, merchantId))) return null;
    const before = await listRecoveryRules(tx, merchantId);
    check(before);
    const rules = proposed.map((rule) => ({ ...rule, id: rule.id ?? ports.newId() }));
    const isSame = isDeepStrictEqual(rules, before.map(withoutNumber));
    if (!isSame) await writeChange(tx, merchantId, before, rules, actor, ports);
    return rules.map((rule, index) => ({ ...rule, number: index + 1 }));
  });
}

const withoutNumber = ({ number: _, ...rule }: NumberedRule): RecoveryRule => rule;

async function writeChange(
  tx: Tx,
  merchantId: string,
  before: readonly RecoveryRule[],
  rules: readonly RecoveryRule[],
  actor: Actor,
  ports: Ports,
) {
  await replaceRecoveryRules(tx, merchantId, rules, ports.now());
  await enqueueOpenCases(tx, merchantId, ports.newId());
  const details = { before: describeRules(merchantId, before), after: describeRules(merchantId, rules) };
  await writeAuditEntry(
    tx,
    merchantId,
    actor,
    { operation: "rules.changed", object: "recovery rules", details },
    ports,
  );
}
