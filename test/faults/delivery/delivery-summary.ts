import type { ServiceFleet } from "../harness/service-fleet.ts";
import { formatEvents, formatLog, formatRow } from "../harness/summary.ts";
import { FAULTS, type Fault } from "./delivery-faults.ts";

interface RunFacts {
  counts: Record<string, number>;
  faults: readonly Fault[];
  fleet: ServiceFleet;
}

/** Formats the run as a table. */
export function formatSummary({ counts, faults, fleet }: RunFacts): string[] {
  return [
    "",
    formatRow(
      "faults",
      ...FAULTS.map((kind): [number, string] => [faults.filter((each) => each === kind).length, kind]),
    ),
    formatRow("processes", [fleet.processes.length, "one after the other, two at a time"]),
    ...formatEvents(counts),
    formatRow("drained", [counts.drainedMs, "ms after the last fault"]),
    formatLog(fleet.lines),
  ];
}
