import { registerHooks } from "node:module";
import { pathToFileURL } from "node:url";

/**
 * Imports a TypeScript module that Node itself can't: Node takes the types away and no more, so that enums, properties that a constructor declares, types that
 * are imported without `type`, and imports without an extension are beyond it. What such a module imports of files is compiled into it.
 *
 * @returns null: it can't be compiled either
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
  // So that the place of what a world throws is that in its own text.
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
      // Nothing is written: places are told from there.
      ...{ outfile: path.replace(/\.\w+$/, ".js"), write: false, sourcemap: "inline" },
      ...{ bundle: true, packages: "external", format: "esm", platform: "node", logLevel: "silent" },
    });
    return outputFiles[0]!.text;
  } catch {
    return null;
  }
}
