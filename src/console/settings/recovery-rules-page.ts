import { describeRulesThatNeverApply, type NumberedRule } from "../../domain/recovery-rule.ts";
import { describeConditions, describeOutcome } from "../../merchants/rules-wording.ts";
import type { RulesTest, SegmentTotal } from "../../merchants/test-recovery-rules.ts";
import type { RuleTotal } from "../../tables/recovery-rules.ts";
import { type Html, type HtmlPart, html } from "../html.ts";
import type { Page } from "../page-layout.ts";
import { formNotice, hiddenFields } from "../show/form-fields.ts";
import { formatCount, formatMoney } from "../show/number-format.ts";
import { table } from "../show/table.ts";
import { ruleFields } from "./rule-form.ts";

export const PATH = "/settings/rules";

export interface ShownRules {
  rules: readonly NumberedRule[];
  totals: readonly RuleTotal[];
  /** Cases that rules which leave invoices out ended, by rule, since a time. */
  leftOut: { since: Date; byRule: ReadonlyMap<string, number> };
  /** Of the list that the form was made from. */
  version: string;
}

/** @param done  the last change; null: none */
export const rulesPage = (shown: ShownRules, done: string | null): Page => ({
  title: "Recovery rules",
  tools: html`<a class="button main" href="${PATH}?edit=new">Add a rule</a>`,
  body: html`${done && formNotice("good", "Saved. Dunlin decides the open invoices again by these rules. Each keeps the attempts that it has had.")}
<p class="text">Rules are read from the top, and the first that fits an invoice decides. The rules of the card networks always hold as well. <a href="/docs/guides/recovery-rules.html">How rules work</a></p>
${neverApplyNotice(describeRulesThatNeverApply(shown.rules))}${rulesTable(shown)}`,
});

const neverApplyNotice = (notes: readonly string[]) =>
  notes.length > 0 && formNotice("warn", html`${notes.map((note) => html`<p>${startSentence(note)}.</p>`)}`);

const startSentence = (words: string) => words[0]!.toUpperCase() + words.slice(1);

/** Null: all invoices that no rule fits. */
type RuleRow = SegmentTotal & { rule: NumberedRule | null };

function rulesTable({ rules, totals, leftOut }: ShownRules): Html {
  const rowOf = (rule: NumberedRule | null): RuleRow => ({
    rule,
    ...sumTotals(totals.filter(({ ruleId }) => ruleId === (rule?.id ?? null))),
  });
  return table<RuleRow>(
    "Recovery rules",
    [
      { head: "No.", cell: ({ rule }) => rule?.number },
      { head: "Rule", cell: ({ rule }) => (rule ? html`<b>${rule.name}</b>` : "All others") },
      {
        head: "If",
        cell: ({ rule }) => html`<div class="long">${rule ? describeConditions(rule.conditions) : ""}</div>`,
      },
      {
        head: "Then",
        cell: ({ rule }) =>
          html`<div class="long">${rule ? describeOutcome(rule) : "as in the settings"}${rule?.leaveOut && html`, ${leftOutWords(rule, leftOut)}`}</div>`,
      },
      { head: "Open", cell: ({ openCases }) => formatCount(openCases), numeric: true },
      { head: "Money", cell: moneyCell, numeric: true },
      { head: "", cell: ({ rule }) => rule && html`<a class="button small" href="${PATH}?edit=${rule.id}">Edit</a>` },
    ],
    [...rules.map(rowOf), rowOf(null)],
  );
}

export const LEFT_OUT_DAYS = 30;

function leftOutWords({ id }: NumberedRule, { since, byRule }: ShownRules["leftOut"]): HtmlPart {
  const n = byRule.get(id) ?? 0;
  if (n === 0) return `none in the last ${LEFT_OUT_DAYS} days`;
  const query = new URLSearchParams({ leftOutBy: id, endedFrom: since.toISOString() });
  return html`<a href="/invoices?${query.toString()}">${formatCount(n)} ${n === 1 ? "invoice" : "invoices"} in the last ${LEFT_OUT_DAYS} days</a>`;
}

const sumTotals = (totals: readonly RuleTotal[]): SegmentTotal => ({
  openCases: totals.reduce((sum, { cases }) => sum + cases, 0),
  amounts: Object.fromEntries(totals.map(({ currency, amount }) => [currency, amount])),
});

const moneyCell = ({ amounts }: SegmentTotal): HtmlPart =>
  Object.entries(amounts).map(([currency, amount], index) => [index > 0 && ", ", formatMoney(amount, currency)]);

export interface RuleForm {
  form: URLSearchParams;
  /** Of the whole list with this rule in it; null: not tested yet. */
  test: RulesTest | null;
  /** Why the rule is refused; null: it is not. */
  problem: string | null;
}

/** @param rule  the stored one; null: a new one */
export function rulePage({ rules, version }: ShownRules, rule: NumberedRule | null, shown: RuleForm): Page {
  const { form, test, problem } = shown;
  const hidden = { was: version, ...(rule && { id: rule.id }) };
  return {
    title: rule ? `Rule ${rule.number}, “${rule.name}”` : "Add a rule",
    status: problem === null ? 200 : 400,
    body: html`${problem !== null && formNotice("bad", problem)}${test && testNotice(test, Number(form.get("position")))}${test && neverApplyNotice(test.notes)}
<form method="post" action="${PATH}" class="card rule-form">
${hiddenFields(hidden)}
${ruleFields(form, rules.length + (rule ? 0 : 1))}
<p class="soft">Fields that are left open come from the settings. The rules of the card networks always hold as well.</p>
<p class="form-buttons"><button name="do" value="check">Check</button><button class="main" name="do" value="save">Save</button><a href="${PATH}">Cancel</a></p>
</form>
${rule && html`<form method="post" action="${PATH}" class="inline">${hiddenFields(hidden)}<button class="danger" name="do" value="delete">Delete the rule</button></form>`}`,
  };
}

function testNotice({ openCases, planChanges, rules }: RulesTest, position: number): Html {
  const own = rules[position - 1]!;
  const money = Object.keys(own.amounts).length > 0 ? html`, ${moneyCell(own)}` : "";
  return formNotice(
    "warn",
    html`Nothing is saved yet. The rule would hold <b>${formatCount(own.openCases)} of ${formatCount(openCases)} open invoices${money}</b>. With it, ${formatCount(planChanges)} ${planChanges === 1 ? "plan changes" : "plans change"}. Each invoice keeps the attempts that it has had.`,
  );
}
