import { registerHooks } from "node:module";
import { pathToFileURL } from "node:url";

/**
 * For TypeScript that Node cannot load: enums, parameter properties, imports without an extension or `type`. Bundles its imports.
 *
 * @returns null if it cannot be compiled either
 */
export async function importCompiled(path: string): Promise<unknown> {
  const { href } = pathToFileURL(path);
  const marked = `${href}?compiled`;
  const source = await compileModule(path);
  if (source === null) return null;
  const hooks = registerHooks({
    load: (url, context, next) =>
      url === marked ? { format: "module", source, shortCircuit: true } : next(url, context),
  });
  process.setSourceMapsEnabled(true);
  try {
    return await import(marked);
  } finally {
    hooks.deregister();
  }
}

async function compileModule(path: string): Promise<string | null> {
  const { buildSync } = await import("esbuild");
  try {
    const { outputFiles } = buildSync({
      entryPoints: [path],
      // Not written; source positions are relative to it.
      ...{ outfile: path.replace(/\.\w+$/, ".js"), write: false, sourcemap: "inline" },
      ...{ bundle: true, packages: "external", format: "esm", platform: "node", logLevel: "silent" },
    });
    return outputFiles[0]!.text;
  } catch {
    return null;
  }
}
