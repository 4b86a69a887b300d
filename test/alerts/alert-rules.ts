import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { findCodeFences } from "../documents/code-fences.ts";
import { type Expression, parseExpression } from "./alert-expression.ts";

export interface AlertRule {
  name: string;
  text: string;
  expression: Expression;
}

const GUIDE_PATH = join(import.meta.dirname, "../../docs/guides/alerts.md");

/** Reads the guide's rules, and its instructions for when one fires. */
export function readAlertGuide(): { rules: AlertRule[]; runbook: ReadonlyMap<string, string> } {
  const text = readFileSync(GUIDE_PATH, "utf8");
  const yaml = findCodeFences(text).find(({ language }) => language === "yaml");
  assert.ok(yaml);
  const rules = yaml.text
    .split("- alert: ")
    .slice(1)
    .map((rule) => {
      const name = rule.split("\n", 1)[0]!.trim();
      const expr = /^\s*expr: (.*)$/m.exec(rule)![1]!;
      return { name, text: expr, expression: parseExpression(expr) };
    });
  const entries = text.split(/^### /m).slice(1);
  const runbook = new Map(entries.map((entry) => [entry.split("\n", 1)[0]!.trim(), entry] as const));
  return { rules, runbook };
}
