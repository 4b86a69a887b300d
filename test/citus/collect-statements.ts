import { globSync, readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "../..");
const COLLECTING = "\nglobalThis.collectedStatements.push({ name, text });\n";

export interface CollectedStatement {
  name: string;
  text: string;
}

/**
 * Loads all modules of the product that have SQL, and returns the statements that they prepare while they are loaded. Call it before
 * any of them is loaded. Lists build some of theirs for each request; those are not among them.
 */
export async function collectStatements(): Promise<CollectedStatement[]> {
  const found: CollectedStatement[] = [];
  Object.assign(globalThis, { collectedStatements: found });
  const hooks = registerHooks({
    load(url, context, next) {
      const loaded = next(url, context);
      if (!url.endsWith("/src/postgres/database.ts")) return loaded;
      const source = String(loaded.source);
      const collecting = source.replace(
        /(export const prepared(?:Generic)? = \(name.*?text.*?\).*?=>) \((\{.*?\})\);/g,
        `$1 {${COLLECTING} return $2; };`,
      );
      if (collecting.split(COLLECTING).length !== 3)
        throw new Error("database.ts has no longer two ways to prepare a statement");
      return { ...loaded, source: collecting };
    },
  });
  for (const file of globSync("{src,connectors}/**/*.ts", { cwd: ROOT })) {
    if (/\.(test|fixture)\.ts$|^src\/(main|write-\w+)\.ts$/.test(file)) continue;
    if (/\bprepared(Generic)?\(/.test(readFileSync(join(ROOT, file), "utf8"))) await import(join(ROOT, file));
  }
  hooks.deregister();
  return found;
}
