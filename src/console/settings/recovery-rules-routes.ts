import { DAY_MS } from "../../domain/durations.ts";
import { hashText } from "../../domain/hash-text.ts";
import type { NumberedRule } from "../../domain/recovery-rule.ts";
import { type ProposedRule, parseRecoveryRules, type RuleProblem } from "../../merchants/parse-recovery-rules.ts";
import { changeRecoveryRules } from "../../merchants/recovery-rules.ts";
import { toRuleJson } from "../../merchants/rule-json.ts";
import { testRules } from "../../merchants/test-recovery-rules.ts";
import { countLeftOut, listRecoveryRules, totalsByRule } from "../../tables/recovery-rules.ts";
import { type Console, redirectTo } from "../console.ts";
import { notFoundError, PageError } from "../page-error.ts";
import type { Page } from "../page-layout.ts";
import type { Visit } from "../visit.ts";
import { LEFT_OUT_DAYS, PATH, rulePage, rulesPage, type ShownRules } from "./recovery-rules-page.ts";
import { describeProblem, formOfRule, ruleOfForm } from "./rule-form.ts";

const CHANGED_MESSAGE =
  "Nothing was saved. The rules changed after this page was opened, or you switched to another merchant. Open the page again to see the current rules.";

export function recoveryRulesRoutes({ page, post, ports }: Console) {
  page(PATH, "experiments", async (visit) => {
    const shown = await loadRules(visit, ports.now());
    const id = visit.query.get("edit");
    if (id === null) return rulesPage(shown, visit.query.get("done"));
    const rule = id === "new" ? null : findRule(shown, id);
    const form = rule ? formOfRule(rule) : new URLSearchParams({ position: String(shown.rules.length + 1) });
    return rulePage(shown, rule, { form, test: null, problem: null });
  });
  post(PATH, "experiments", async (visit) => {
    const { db, merchantId, form, actor, reply } = visit;
    const shown = await loadRules(visit, ports.now());
    if (form.get("was") !== shown.version) throw new PageError(409, CHANGED_MESSAGE);
    const id = form.get("id");
    const rule = id === null ? null : findRule(shown, id);
    const proposed = proposeList(shown, rule, form);
    if (!Array.isArray(proposed))
      return rulePage(shown, rule, { form, test: null, problem: describeProblem(proposed) });
    if (form.get("do") === "check") return checkPage(visit, shown, rule, proposed);
    const isCurrent = (before: readonly NumberedRule[]) => {
      if (versionOf(merchantId, before) !== shown.version) throw new PageError(409, CHANGED_MESSAGE);
    };
    await changeRecoveryRules(db, merchantId, proposed, actor, ports, isCurrent);
    return redirectTo(reply, `${PATH}?done=saved`);
  });
}

async function checkPage(
  { db, merchantId, form }: Visit,
  shown: ShownRules,
  rule: NumberedRule | null,
  proposed: readonly ProposedRule[],
): Promise<Page> {
  return rulePage(shown, rule, { form, test: await testRules(db, merchantId, proposed), problem: null });
}

async function loadRules({ db, merchantId }: Visit, now: Date): Promise<ShownRules> {
  const since = new Date(now.getTime() - LEFT_OUT_DAYS * DAY_MS);
  const [rules, totals] = await Promise.all([listRecoveryRules(db, merchantId), totalsByRule(db, merchantId)]);
  const byRule = rules.some(({ leaveOut }) => leaveOut) ? await countLeftOut(db, merchantId, since) : new Map();
  return { rules, totals, leftOut: { since, byRule }, version: versionOf(merchantId, rules) };
}

const versionOf = (merchantId: string, rules: readonly NumberedRule[]) =>
  `${merchantId} ${hashText(JSON.stringify(rules.map(toRuleJson)))}`;

function findRule({ rules }: ShownRules, id: string): NumberedRule {
  const rule = rules.find((each) => each.id === id);
  if (!rule) throw notFoundError("recovery rule");
  return rule;
}

/** The whole list with the form's rule in its place, or without the deleted one. */
function proposeList(
  { rules }: ShownRules,
  rule: NumberedRule | null,
  form: URLSearchParams,
): ProposedRule[] | RuleProblem {
  const list: unknown[] = rules.filter((each) => each !== rule).map(toRuleJson);
  const isDeleted = form.get("do") === "delete";
  if (isDeleted && !rule) throw notFoundError("recovery rule");
  if (!isDeleted) {
    const position = Number(form.get("position"));
    if (!(Number.isInteger(position) && position >= 1 && position <= list.length + 1))
      throw new PageError(400, "Choose the position of the rule.");
    list.splice(position - 1, 0, ruleOfForm(form));
  }
  return parseRecoveryRules(list);
}
