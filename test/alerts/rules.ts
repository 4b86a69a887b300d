import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fencesOf } from "../documents/fences.ts";
import { type Expression, parse } from "./expression.ts";

export interface Rule {
  name: string;
  text: string;
  expression: Expression;
}

const GUIDE = join(import.meta.dirname, "../../docs/guides/alerts.md");

/** The rules of the guide, and what it says to do when one fires. */
export function readGuide(): { rules: Rule[]; runbook: ReadonlyMap<string, string> } {
  const text = readFileSync(GUIDE, "utf8");
  const yaml = fencesOf(text).find(({ language }) => language === "yaml");
  assert.ok(yaml);
  const rules = yaml.text
    .split("- alert: ")
    .slice(1)
    .map((rule) => {
      const name = rule.split("\n", 1)[0]!.trim();
      const expr = /^\s*expr: (.*)$/m.exec(rule)![1]!;
      return { name, text: expr, expression: parse(expr) };
    });
  const entries = text.split(/^### /m).slice(1);
  const runbook = new Map(entries.map((entry) => [entry.split("\n", 1)[0]!.trim(), entry] as const));
  return { rules, runbook };
}
