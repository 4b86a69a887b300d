import { lstat, mkdir, mkdtemp, open, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { giveOwnership, type LaunchMethod, launchProgram } from "./launch.ts";
import { openServerLog, type ServerFolder } from "./server-folder.ts";

/** The role that owns everything in the embedded server. */
export const DATABASE_OWNER = "dunlin";

/** A folder that only the server's account may enter: whoever reaches the socket is let in without a password. */
export async function openSocketDir(folder: ServerFolder, by: LaunchMethod): Promise<void> {
  try {
    await mkdir(folder.socketDir, { mode: 0o700 });
    await giveOwnership(by, folder.socketDir);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  // In a temporary folder somebody else may have made it before us, to listen there in the server's place.
  const found = await lstat(folder.socketDir);
  const owner = by.account?.uid ?? process.getuid?.();
  if (!found.isDirectory() || found.uid !== owner || (found.mode & 0o077) !== 0) {
    throw new Error(`${folder.socketDir} must be a folder of user ${owner} with mode 0700: remove it`);
  }
}

/**
 * Makes the data directory if there is none. It is made under another name and renamed when complete and on disk, so
 * that an interruption leaves nothing half made in its place.
 *
 * @returns whether it was made
 */
export async function initializeCluster(folder: ServerFolder, by: LaunchMethod): Promise<boolean> {
  if (await isInitialized(folder)) return false;
  await removeUnfinished(folder);
  const unfinished = await mkdtemp(`${folder.cluster}.new-${process.pid}-`);
  try {
    await giveOwnership(by, unfinished);
    // The builtin locale orders text by code point, everywhere alike, whatever libraries the system has.
    const locale = ["-E", "UTF8", "--locale-provider=builtin", "--locale=C.UTF-8"];
    await initdb(folder, by, ["-D", unfinished, "-U", DATABASE_OWNER, "-A", "trust", ...locale]);
    await rename(unfinished, folder.cluster);
    await syncFolder(folder.root);
    return true;
  } catch (error) {
    // Another process that started at the same moment was faster: its data directory is as good.
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
    throw new Error(`cannot read ${folder.cluster}, which another user made: run as that user`, { cause: error });
  }
}

async function initdb(folder: ServerFolder, by: LaunchMethod, args: string[]): Promise<void> {
  const log = await openServerLog(folder);
  try {
    const child = launchProgram(by, "initdb", args, {
      cwd: folder.root,
      stdio: ["ignore", log.fd, log.fd],
      detached: true,
    });
    await new Promise<void>((resolve, reject) => {
      child.once("error", reject);
      child.once("exit", (code, signal) =>
        code === 0 ? resolve() : reject(new Error(`initdb ended with ${code ?? signal}: see ${folder.log}`)),
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
