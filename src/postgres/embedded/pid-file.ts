import { execFileSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { giveOwnership, type LaunchMethod } from "./launch.ts";

/** What a server says about itself in postmaster.pid. */
export interface PidFile {
  pid: number;
  socketDir: string;
  ready: boolean;
  lines: string[];
}

/** Lines of postmaster.pid, as PostgreSQL's miscadmin.h has them: pid, data directory, start, port, socket folder, host, memory, status. */
export async function readPidFile(cluster: string): Promise<PidFile | undefined> {
  const text = await readFile(join(cluster, "postmaster.pid"), "utf8").catch(() => "");
  const lines = text.split("\n");
  const pid = Number(lines[0]);
  if (!(pid > 0)) return undefined;
  return { pid, socketDir: lines[4] ?? "", ready: lines[7]?.trim() === "ready", lines };
}

/** Whether this process is a living PostgreSQL over this data directory. Numbers of ended processes are given out again. */
export function isServer(pid: number, cluster: string): boolean {
  if (process.platform === "linux") return isPostgres(pid) && (isWorkingIn(pid, cluster) ?? isPostmaster(pid, cluster));
  try {
    return /^[^Z].*postgres/.test(stateAndProgram(pid));
  } catch {
    return false;
  }
}

/**
 * Ends what remains of a server that was killed. A backend that waits for a lock of another one that was killed, too, or works without a pause, never
 * learns of it, and PostgreSQL refuses to start as long as it has the memory. What it has not committed is lost as in any crash. Where a server lives, of
 * which postmaster.pid says nothing, nothing is ended; nor is what may not be looked at. On Linux only.
 */
export async function killOrphanedBackends(cluster: string): Promise<void> {
  if (process.platform !== "linux") return;
  const pids = (await readdir("/proc"))
    .map(Number)
    .filter((pid) => pid > 0 && isPostgres(pid) && isWorkingIn(pid, cluster));
  if (pids.some((pid) => isPostmaster(pid))) return;
  for (const pid of pids) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It ended by itself.
    }
  }
}

/** Of Linux, which tells everybody of every process; "" of one that has ended. */
function readProc(pid: number, what: "stat" | "cmdline"): string {
  try {
    return readFileSync(`/proc/${pid}/${what}`, "utf8");
  } catch {
    return "";
  }
}

const isPostgres = (pid: number) => /^\d+ \(postgres\) [^ZX]/.test(readProc(pid, "stat"));

/** null: that is kept from us, as in most containers from root, who runs the server as another user. */
function isWorkingIn(pid: number, cluster: string): boolean | null {
  try {
    const [its, own] = [`/proc/${pid}/cwd`, cluster].map((path) => statSync(path, { bigint: true }));
    // Not the path: in another container it may be that of another folder.
    return its!.dev === own!.dev && its!.ino === own!.ino;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EACCES" ? null : false;
  }
}

/** Whether this process is a server itself, over this data directory if one is named: backends put words of their own in place of its command line. */
function isPostmaster(pid: number, cluster?: string): boolean {
  const words = readProc(pid, "cmdline").split("\0");
  const over = words.indexOf("-D") + 1;
  return over > 0 && (cluster === undefined || words[over] === cluster);
}

const stateAndProgram = (pid: number) =>
  execFileSync("ps", ["-o", "stat=", "-o", "comm=", "-p", String(pid)], { encoding: "utf8" });

/**
 * PostgreSQL refuses to start while the process named in a leftover postmaster.pid is alive, even when that is something
 * else that was given the number (a container that was restarted), or a zombie. Its parent is the one process it
 * overlooks: so we put ourselves there, and keep the rest, by which it sees whether old backends still live. The socket
 * has a lock of the same kind, which guards nothing more: it goes.
 */
export async function takeOverPidFile(cluster: string, found: PidFile, by: LaunchMethod): Promise<void> {
  const path = join(cluster, "postmaster.pid");
  const now = await readPidFile(cluster);
  if (now?.pid !== found.pid || !isProcessAlive(found.pid)) return;
  await writeFile(`${path}.new`, [process.pid, ...found.lines.slice(1)].join("\n"));
  await giveOwnership(by, `${path}.new`);
  await rename(`${path}.new`, path);
  await rm(join(found.socketDir, ".s.PGSQL.5432.lock"), { force: true });
}

function isProcessAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
