import { execFileSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { giveOwnership, type LaunchMethod } from "./launch.ts";

/** postmaster.pid */
export interface PidFile {
  pid: number;
  socketDir: string;
  ready: boolean;
  lines: string[];
}

/** Lines, by PostgreSQL's miscadmin.h: pid, data directory, start, port, socket folder, host, memory, status. */
export async function readPidFile(cluster: string): Promise<PidFile | undefined> {
  const text = await readFile(join(cluster, "postmaster.pid"), "utf8").catch(() => "");
  const lines = text.split("\n");
  const pid = Number(lines[0]);
  if (!(pid > 0)) return undefined;
  return { pid, socketDir: lines[4] ?? "", ready: lines[7]?.trim() === "ready", lines };
}

/** Whether this is a running server of this data directory, not another process with a reused pid. */
export function isServer(pid: number, cluster: string): boolean {
  if (process.platform === "linux") return isPostgres(pid) && (isWorkingIn(pid, cluster) ?? isPostmaster(pid, cluster));
  try {
    return /^[^Z].*postgres/.test(stateAndProgram(pid));
  } catch {
    return false;
  }
}

/**
 * Kills a killed server's backends. One that waits for another's lock, or never pauses, does not notice, and PostgreSQL refuses
 * to start while it holds the shared memory. Does nothing if a server is running, or for processes that it cannot inspect. Linux
 * only.
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
      // It has exited.
    }
  }
}

/** "" if the process has ended. */
function readProc(pid: number, file: "stat" | "cmdline"): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return "";
  }
}

const isPostgres = (pid: number) => /^\d+ \(postgres\) [^ZX]/.test(readProc(pid, "stat"));

/** Null if permission is denied, as for root in most containers, where the server runs as another user. */
function isWorkingIn(pid: number, cluster: string): boolean | null {
  try {
    const [working, expected] = [`/proc/${pid}/cwd`, cluster].map((path) => statSync(path, { bigint: true }));
    // Inodes, because another container's same path may be another folder.
    return working!.dev === expected!.dev && working!.ino === expected!.ino;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EACCES" ? null : false;
  }
}

/** Backends overwrite their command line. */
function isPostmaster(pid: number, cluster?: string): boolean {
  const args = readProc(pid, "cmdline").split("\0");
  const dataDirIndex = args.indexOf("-D") + 1;
  return dataDirIndex > 0 && (cluster === undefined || args[dataDirIndex] === cluster);
}

const stateAndProgram = (pid: number) =>
  execFileSync("ps", ["-o", "stat=", "-o", "comm=", "-p", String(pid)], { encoding: "utf8" });

/**
 * Replaces the pid in a leftover postmaster.pid by our own, and deletes the socket's lock file.
 *
 * PostgreSQL refuses to start while that pid is alive, even as an unrelated process or a zombie, unless it is its parent. The
 * file's rest stays, because it shows whether old backends are alive.
 */
export async function takeOverPidFile(cluster: string, found: PidFile, launchMethod: LaunchMethod): Promise<void> {
  const path = join(cluster, "postmaster.pid");
  const current = await readPidFile(cluster);
  if (current?.pid !== found.pid || !isProcessAlive(found.pid)) return;
  await writeFile(`${path}.new`, [process.pid, ...found.lines.slice(1)].join("\n"));
  await giveOwnership(launchMethod, `${path}.new`);
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
