import { execFileSync } from "node:child_process";
import { readFileSync, readlinkSync } from "node:fs";
import { readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { hand, type Launch } from "./launch.ts";

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
  try {
    if (process.platform !== "linux") return /^[^Z].*postgres/.test(stateAndProgram(pid));
    const state = readFileSync(`/proc/${pid}/stat`, "latin1").replace(/^.*\) /s, "")[0];
    return state !== "Z" && state !== "X" && readlinkSync(`/proc/${pid}/cwd`) === cluster;
  } catch {
    return false;
  }
}

/**
 * Ends what remains of a server that was killed. A backend that waits for a lock of another one that was killed, too, or works without a pause, never
 * learns of it, and PostgreSQL refuses to start as long as it has the memory. What it has not committed is lost as in any crash. Where a server lives, of
 * which postmaster.pid says nothing, nothing is ended. On Linux only.
 */
export async function endRemains(cluster: string): Promise<void> {
  if (process.platform !== "linux") return;
  const pids = (await readdir("/proc")).map(Number).filter((pid) => pid > 0 && isServer(pid, cluster));
  if (pids.some(wasStarted)) return;
  for (const pid of pids) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It ended by itself.
    }
  }
}

/** Whether this process is a server itself: backends put words of their own in place of its command line. */
function wasStarted(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "latin1").split("\0").includes("-D");
  } catch {
    return false;
  }
}

const stateAndProgram = (pid: number) =>
  execFileSync("ps", ["-o", "stat=", "-o", "comm=", "-p", String(pid)], { encoding: "utf8" });

/**
 * PostgreSQL refuses to start while the process named in a leftover postmaster.pid is alive, even when that is something
 * else that was given the number (a container that was restarted), or a zombie. Its parent is the one process it
 * overlooks: so we put ourselves there, and keep the rest, by which it sees whether old backends still live. The socket
 * has a lock of the same kind, which guards nothing more: it goes.
 */
export async function disown(cluster: string, found: PidFile, by: Launch): Promise<void> {
  const path = join(cluster, "postmaster.pid");
  const now = await readPidFile(cluster);
  if (now?.pid !== found.pid || !exists(found.pid)) return;
  await writeFile(`${path}.new`, [process.pid, ...found.lines.slice(1)].join("\n"));
  await hand(by, `${path}.new`);
  await rename(`${path}.new`, path);
  await rm(join(found.socketDir, ".s.PGSQL.5432.lock"), { force: true });
}

function exists(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
