import { readdirSync, readFileSync } from "node:fs";

// Linux counts CPU time in hundredths of a second.
const TICK_MS = 10;
const UTIME = 11;
const PARENT = 1;

/** Undefined if the process is gone. */
function readProcStat(pid: number | string): string[] | undefined {
  try {
    return readFileSync(`/proc/${pid}/stat`, "latin1")
      .replace(/^.*\) /s, "")
      .split(" ");
  } catch {
    return undefined;
  }
}

// With ended children that were waited for.
const cpuTicksOf = (stat: string[]) =>
  stat.slice(UTIME, UTIME + 4).reduce((sum, ticks) => sum + Number(ticks), 0) * TICK_MS;

/**
 * In milliseconds, with children such as a postmaster's backends.
 *
 * @param apart  children counted separately: an ended backend's CPU would count for the service that started the postmaster
 */
export function readTreeCpuMs(pid: number, apart: readonly number[] = []): number {
  const own = readProcStat(pid);
  if (!own) return 0;
  const stats = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && !apart.includes(Number(name)))
    .flatMap((name) => {
      const stat = readProcStat(name);
      return stat && Number(stat[PARENT]) === pid ? [stat] : [];
    });
  return [own, ...stats].reduce((sum, stat) => sum + cpuTicksOf(stat), 0);
}

function readMachineCpuMs(): number {
  const [user, nice, system, , , irq, softirq, steal] = readFileSync("/proc/stat", "latin1")
    .split("\n", 1)[0]!
    .trim()
    .split(/\s+/)
    .slice(1)
    .map(Number);
  return (user! + nice! + system! + irq! + softirq! + steal!) * TICK_MS;
}

/** Nanoseconds on a core, and nanoseconds that a thread waited for one. */
export interface SchedulerTime {
  ranNs: number;
  waitedNs: number;
}

/** By thread. With children, such as a postmaster's backends. */
export function readSchedulerTimes(pids: readonly number[]): Map<string, SchedulerTime> {
  const children = readFolder("/proc").filter((name) => pids.includes(Number(readProcStat(name)?.[PARENT])));
  const all = new Set([...pids.map(String), ...children]);
  const threads = [...all].flatMap((pid) => readFolder(`/proc/${pid}/task`).map((thread) => `${pid}/task/${thread}`));
  return new Map(
    threads.flatMap((thread): [string, SchedulerTime][] => {
      try {
        const [ranNs, waitedNs] = readFileSync(`/proc/${thread}/schedstat`, "latin1").split(" ").map(Number);
        return [[thread, { ranNs: ranNs!, waitedNs: waitedNs! }]];
      } catch {
        return [];
      }
    }),
  );
}

function readFolder(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
}

export interface CpuMeasurement<Result> {
  result: Result;
  cpuMs: Record<string, number>;
  /** Kept busy by other processes. */
  otherCores: number;
}

/** NaN on systems other than Linux. */
export async function measureCpu<Result>(pids: Record<string, number>, work: () => Promise<Result>) {
  if (process.platform !== "linux") {
    const cpuMs = Object.fromEntries(Object.keys(pids).map((name) => [name, Number.NaN]));
    return { result: await work(), cpuMs, otherCores: Number.NaN };
  }
  const startedMs = performance.now();
  const machineMs = readMachineCpuMs();
  const own = process.cpuUsage();
  const apart = Object.values(pids);
  const before = Object.entries(pids).map(([name, pid]) => [name, pid, readTreeCpuMs(pid, apart)] as const);
  const result = await work();
  const cpuMs = Object.fromEntries(before.map(([name, pid, ms]) => [name, readTreeCpuMs(pid, apart) - ms]));
  const { user, system } = process.cpuUsage(own);
  const oursMs = Object.values(cpuMs).reduce((sum, ms) => sum + ms, (user + system) / 1000);
  const otherCores = Math.max(0, readMachineCpuMs() - machineMs - oursMs) / (performance.now() - startedMs);
  return { result, cpuMs, otherCores } satisfies CpuMeasurement<Result>;
}
