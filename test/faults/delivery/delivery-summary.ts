import type { Problem } from "../process/verify-records.ts";
import { FAULTS, type Fault } from "./delivery-faults.ts";
import type { DeliveryFleet } from "./delivery-fleet.ts";

interface RunFacts {
  seed: number;
  counts: Record<string, number>;
  faults: readonly Fault[];
  fleet: DeliveryFleet;
  problems: readonly Problem[];
}

const SHOWN_MAX = 8;

/** Formats the run as a table, followed by any problems with the seed to reproduce them. */
export function formatSummary({ seed, counts, faults, fleet, problems }: RunFacts): string[] {
  const row = (name: string, ...cells: [number | undefined, string][]) =>
    `  ${name.padEnd(10)}${cells.map(([count, what]) => `${String(count ?? 0).padStart(8)} ${what}`).join("")}`;
  const { delivered = 0, exhausted = 0, withdrawn = 0, waiting = 0 } = counts;
  const warnings = [...fleet.logged].filter(([name]) => !/^(info|debug) /.test(name)).sort();
  const lines = [
    "",
    row("faults", ...FAULTS.map((kind): [number, string] => [faults.filter((each) => each === kind).length, kind])),
    row("processes", [counts.processes, "one after the other, two at a time"]),
    row(
      "events",
      [delivered + exhausted + withdrawn + waiting, "all"],
      [delivered, "delivered"],
      [exhausted, "exhausted"],
    ),
    row("", [withdrawn, "withdrawn"], [waiting, "waiting"]),
    row("attempts", [counts.attempts, "logged"], [counts.requests, "requests"]),
    row("", [counts.cutShort, "requests cut short by a fault and made again"]),
    row("", [counts.afterSuccess, "after a recorded 2xx, by one that had slept or was cut off"]),
    row("drained", [counts.drainedMs, "ms after the last fault"]),
    `  log       ${warnings.map(([name, count]) => ` ${count} ${name.slice(0, 100)}`).join(",")}`,
    "",
  ];
  if (problems.length === 0) return [...lines, "No promise was broken."];
  for (const [invariant, all] of Map.groupBy(problems, (problem) => problem.invariant)) {
    lines.push(`${invariant}: broken ${all.length} times`);
    for (const { says } of all.slice(0, SHOWN_MAX)) lines.push(`  ${says}`);
  }
  return [...lines, "", `Broken with --seed ${seed}.`];
}
