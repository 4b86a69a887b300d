import { lstat, mkdir, mkdtemp, open, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { giveOwnership, type LaunchMethod, launchProgram } from "./launch.ts";
import { openServerLog, type ServerFolder } from "./server-folder.ts";

export const DATABASE_OWNER = "dunlin";

/** Only the server's account can enter the folder, because the socket requires no password. */
export async function openSocketDir(folder: ServerFolder, launchMethod: LaunchMethod): Promise<void> {
  try {
    await mkdir(folder.socketDir, { mode: 0o700 });
    await giveOwnership(launchMethod, folder.socketDir);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  // In a temporary folder, another user may have created it first, to listen in place of the server.
  const found = await lstat(folder.socketDir);
  const owner = launchMethod.account?.uid ?? process.getuid?.();
  if (!found.isDirectory() || found.uid !== owner || (found.mode & 0o077) !== 0) {
    throw new Error(`${folder.socketDir} must belong to user ${owner} and have mode 0700: remove it`);
  }
}

/**
 * Creates the data directory if there is none. It is renamed once complete and on disk, so an interruption leaves no half-made
 * one.
 *
 * @returns whether it was created
 */
export async function initializeCluster(folder: ServerFolder, launchMethod: LaunchMethod): Promise<boolean> {
  if (await isInitialized(folder)) return false;
  await removeUnfinished(folder);
  const unfinished = await mkdtemp(`${folder.cluster}.new-${process.pid}-`);
  try {
    await giveOwnership(launchMethod, unfinished);
    // Sorts text by code point on every system.
    const locale = ["-E", "UTF8", "--locale-provider=builtin", "--locale=C.UTF-8"];
    await initdb(folder, launchMethod, ["-D", unfinished, "-U", DATABASE_OWNER, "-A", "trust", ...locale]);
    await rename(unfinished, folder.cluster);
    await syncFolder(folder.root);
    return true;
  } catch (error) {
    // Created concurrently.
    const code = (error as NodeJS.ErrnoException).code;
    if (code !== "ENOTEMPTY" && code !== "EEXIST") throw error;
    return false;
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
}

async function isInitialized(folder: ServerFolder): Promise<boolean> {
  try {
    await stat(join(folder.cluster, "PG_VERSION"));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw new Error(`cannot read ${folder.cluster}, which belongs to another user: run as that user`, { cause: error });
  }
}

async function initdb(folder: ServerFolder, launchMethod: LaunchMethod, args: string[]): Promise<void> {
  const log = await openServerLog(folder);
  try {
    const child = launchProgram(launchMethod, "initdb", args, {
      cwd: folder.root,
      stdio: ["ignore", log.fd, log.fd],
      detached: true,
    });
    await new Promise<void>((resolve, reject) => {
      child.once("error", reject);
      child.once("exit", (code, signal) =>
        code === 0 ? resolve() : reject(new Error(`initdb failed (${code ?? signal}): see ${folder.log}`)),
      );
    });
  } finally {
    await log.close();
  }
}

async function removeUnfinished(folder: ServerFolder): Promise<void> {
  for (const name of await readdir(folder.root)) {
    const pid = /^cluster\.new-(\d+)-/.exec(name)?.[1];
    if (pid && !isProcessAlive(Number(pid))) await rm(join(folder.root, name), { recursive: true, force: true });
  }
}

function isProcessAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path);
  await folder.sync().finally(() => folder.close());
}
