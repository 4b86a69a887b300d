import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Visits pages, and returns each violation that axe finds, with the page's name. The context bypasses the pages' policy. */
export async function findViolations(at: Page, pages: readonly (readonly [name: string, path: string])[]) {
  const violations: string[] = [];
  for (const [name, path] of pages) {
    await at.goto(path);
    await at.evaluate(AXE);
    const found = await at.evaluate<string[]>(
      "axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes[0].html))",
    );
    violations.push(...found.map((each) => `${name}: ${each}`));
  }
  return violations;
}
