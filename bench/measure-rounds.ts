import { measureCpu } from "./cpu-time.ts";

export interface Round {
  perSecond: number;
  /** CPU microseconds per item, by process. */
  cpuUs: Record<string, number>;
  otherCores: number;
}

/** `run` returns the elapsed milliseconds. */
export async function measureRound(
  count: number,
  pids: Record<string, number>,
  run: () => Promise<number>,
): Promise<Round> {
  const { result: ms, cpuMs, otherCores } = await measureCpu(pids, run);
  const cpuUs = Object.fromEntries(Object.entries(cpuMs).map(([name, used]) => [name, (used * 1000) / count]));
  return { perSecond: (count / ms) * 1000, cpuUs, otherCores };
}

/** A multiple of `step`. */
export const itemCountFor = (perSecond: number, seconds: number, step: number) =>
  Math.max(1, Math.round((perSecond * seconds) / step)) * step;

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

export function medianRound(rounds: readonly Round[]): Round {
  const names = Object.keys(rounds[0]!.cpuUs);
  return {
    perSecond: median(rounds.map(({ perSecond }) => perSecond)),
    cpuUs: Object.fromEntries(names.map((name) => [name, median(rounds.map(({ cpuUs }) => cpuUs[name]!))])),
    otherCores: median(rounds.map(({ otherCores }) => otherCores)),
  };
}

export interface ReportLine {
  name: string;
  ours: Round[];
  ceiling: Round[];
  target: number;
}

const formatCount = (value: number) => Math.round(value).toLocaleString("en");
const percent = (value: number) => `${Math.round(value * 100)} %`;
const cpuText = ({ cpuUs }: Round) =>
  Object.entries(cpuUs)
    .map(([name, us]) => `${name} ${us.toFixed(1)}`)
    .join(", ");

const totalCpuUs = ({ cpuUs }: Round) => Object.values(cpuUs).reduce((sum, us) => sum + us, 0);

/** Medians. The ratio is the median of the rounds' ratios, since neighboring rounds saw the same machine. */
export function printComparison({ name, ours, ceiling, target }: ReportLine, unit: string) {
  const [us, them] = [medianRound(ours), medianRound(ceiling)];
  const ratios = ours.map(({ perSecond }, index) => perSecond / ceiling[index]!.perSecond);
  const ratio = median(ratios);
  console.log(`${name}`);
  console.log(`  ours     ${formatCount(us.perSecond).padStart(8)} ${unit}/s   CPU µs each: ${cpuText(us)}`);
  console.log(`  ceiling  ${formatCount(them.perSecond).padStart(8)} ${unit}/s   CPU µs each: ${cpuText(them)}`);
  console.log(
    `  ratio    ${percent(ratio).padStart(8)}  (rounds ${ratios.map(percent).join(", ")})   target ${percent(target)}: ${ratio >= target ? "met" : "MISSED"}`,
  );
  // The better measure if other processes slowed the contenders unequally.
  console.log(
    `  by CPU   ${percent(totalCpuUs(them) / totalCpuUs(us)).padStart(8)}  (all CPU of the ceiling's processes to all of ours)`,
  );
  console.log(
    `  others   ${us.otherCores.toFixed(2).padStart(8)} cores busy with other work during ours, ${them.otherCores.toFixed(2)} during the ceiling`,
  );
}
