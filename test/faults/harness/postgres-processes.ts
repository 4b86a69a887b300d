import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Address } from "../../../src/postgres/database.ts";
import { addressOf } from "../../../src/postgres/embedded/usage-lock.ts";

/** A server seen from outside: by the files in its folder and the system's list of processes. */
export interface PostgresProcesses {
  postmaster(): number | null;
  address(): Address;
  /**
   * Prepares SIGKILL for the postmaster, whose children notice and leave, or for all of them at the same instant, like a lost
   * machine. Prepared in advance, because finding processes takes longer than the targeted interval.
   */
  aim(all: boolean): PreparedKill;
  /** Prepares the same for one backend. The postmaster then ends all others and recovers. */
  aimAtBackend(draw: number): PreparedKill;
}

export interface PreparedKill {
  pids: number[];
  fire(): void;
}

export function openPostgresProcesses(dataDir: string): PostgresProcesses {
  const pidFile = join(dataDir, "postgres", "cluster", "postmaster.pid");
  return { ...openServerProcesses(pidFile, / dunlin dunlin /), address: () => addressOf(readLines(pidFile)[4] ?? "") };
}

/** @param backend  fits the title of each backend that can be killed */
export function openServerProcesses(pidFile: string, backend: RegExp): Omit<PostgresProcesses, "address"> {
  const postmaster = () => {
    const pid = Number(readLines(pidFile)[0]);
    return pid > 0 && isPostgres(pid) ? pid : null;
  };
  return {
    postmaster,
    aim(all) {
      const pid = postmaster();
      if (pid === null) return prepareKill([]);
      return prepareKill([pid, ...(all ? childrenOf(pid).map((child) => child.pid) : [])]);
    },
    aimAtBackend(draw) {
      const pid = postmaster();
      const backends = pid === null ? [] : childrenOf(pid).filter(({ words }) => backend.test(words));
      return prepareKill(
        backends
          .slice(Math.floor(draw * backends.length))
          .slice(0, 1)
          .map((backend) => backend.pid),
      );
    },
  };
}

function readLines(file: string): string[] {
  try {
    return readFileSync(file, "utf8").split("\n");
  } catch {
    return [];
  }
}

const prepareKill = (pids: number[]): PreparedKill => ({ pids, fire: () => pids.forEach(killProcess) });

const listProcesses = () =>
  spawnSync("ps", ["-A", "-o", "pid=,ppid=,args="], { encoding: "utf8" })
    .stdout.split("\n")
    .flatMap((line) => {
      const [, pid, parent, words] = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? [];
      return pid === undefined ? [] : [{ pid: Number(pid), parent: Number(parent), words: words! }];
    });

const childrenOf = (pid: number) => listProcesses().filter(({ parent }) => parent === pid);
/** A server that has ended and waits for its parent to take note does not count. */
const isPostgres = (pid: number) =>
  listProcesses().some(({ pid: each, words }) => each === pid && /postgres/.test(words) && !/<defunct>/.test(words));

function killProcess(pid: number) {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
