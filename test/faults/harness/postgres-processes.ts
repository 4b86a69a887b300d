import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Address } from "../../../src/postgres/database.ts";
import { addressOf } from "../../../src/postgres/embedded/usage-lock.ts";

/** The embedded server seen from outside: by the files in its folder and the system's list of processes. */
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
  const lines = () => {
    try {
      return readFileSync(join(dataDir, "postgres", "cluster", "postmaster.pid"), "utf8").split("\n");
    } catch {
      return [];
    }
  };
  const postmaster = () => {
    const pid = Number(lines()[0]);
    return pid > 0 && isPostgres(pid) ? pid : null;
  };
  return {
    postmaster,
    address: () => addressOf(lines()[4] ?? ""),
    aim(all) {
      const pid = postmaster();
      if (pid === null) return prepareKill([]);
      return prepareKill([pid, ...(all ? childrenOf(pid).map((child) => child.pid) : [])]);
    },
    aimAtBackend(draw) {
      const pid = postmaster();
      const backends = pid === null ? [] : childrenOf(pid).filter(({ words }) => / dunlin dunlin /.test(words));
      return prepareKill(
        backends
          .slice(Math.floor(draw * backends.length))
          .slice(0, 1)
          .map((backend) => backend.pid),
      );
    },
  };
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
const isPostgres = (pid: number) => listProcesses().some((each) => each.pid === pid && /postgres/.test(each.words));

function killProcess(pid: number) {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
