import type { ReadOptions } from "./recovery-actions.ts";
import type { RecoveryRule, RecoveryRuleList, RecoveryRulesReply, RecoveryRulesTest } from "./recovery-rule.ts";
import type { Request } from "./request.ts";

/** The recovery rules, in order: the first one that fits an invoice decides. */
export interface RecoveryRules {
  list(options?: ReadOptions): Promise<RecoveryRuleList>;
  /** Replaces the whole list. Rejects with a `DunlinError` of code 400, whose message names the rule and the field, if one is invalid. */
  replace(rules: readonly RecoveryRule[], options?: ReadOptions): Promise<RecoveryRulesReply>;
  /** Returns what these rules would change in the open cases, and changes nothing. */
  test(rules: readonly RecoveryRule[], options?: ReadOptions): Promise<RecoveryRulesTest>;
}

const PATH = "/v1/recovery_rules";

export function createRecoveryRules(request: Request): RecoveryRules {
  const send = async (method: "PUT" | "POST", path: string, rules: readonly RecoveryRule[], options?: ReadOptions) =>
    request(method, path, JSON.stringify({ rules }), options?.signal);
  return {
    list: async ({ signal } = {}) => (await request("GET", PATH, undefined, signal)) as unknown as RecoveryRuleList,
    replace: async (rules, options) => (await send("PUT", PATH, rules, options)) as unknown as RecoveryRulesReply,
    test: async (rules, options) =>
      (await send("POST", `${PATH}:test`, rules, options)) as unknown as RecoveryRulesTest,
  };
}
