import { chmodSync, cpSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { mkdtemp, realpath } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "..");
const COPIED = ["bin", "migrations", "sdk", "simulator", "connectors", "lab", "src", "test", "package.json"];

/** A change of the source text that introduces a bug. */
export interface SourcePatch {
  /** From the root. */
  file: string;
  /** Occurs in the file exactly once. */
  find: string;
  replace: string;
}

/** Passes a copy of the source with a bug to `use`, and removes it afterwards. */
export async function withPatchedCopy<T>(
  name: string,
  patches: readonly SourcePatch[],
  use: (root: string) => Promise<T>,
): Promise<T> {
  const copy = await mkdtemp(join(tmpdir(), "dunlin-planted-"));
  // PostgreSQL's binaries are inside, and run as another user if this process runs as root.
  chmodSync(copy, 0o755);
  try {
    for (const path of COPIED) cpSync(join(ROOT, path), join(copy, path), { recursive: true });
    symlinkSync(await realpath(join(ROOT, "node_modules")), join(copy, "node_modules"));
    for (const patch of patches) applyPatch(copy, name, patch);
    return await use(copy);
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

/** Returns descriptions of the patches that do not fit the source. */
export const findStalePatches = (planted: readonly { name: string; patches: readonly SourcePatch[] }[]): string[] =>
  planted.flatMap(({ name, patches }) =>
    patches
      .filter(({ file, find }) => readFileSync(join(ROOT, file), "utf8").split(find).length !== 2)
      .map(({ file, find }) => `${name}: not once in ${file}: ${find}`),
  );

function applyPatch(root: string, name: string, { file, find, replace }: SourcePatch) {
  const path = join(root, file);
  const text = readFileSync(path, "utf8");
  if (text.split(find).length !== 2)
    throw new Error(
      `"${name}" does not fit ${file} any more: this is there ${text.split(find).length - 1} times: ${find}`,
    );
  writeFileSync(
    path,
    text.replace(find, () => replace),
  );
}
