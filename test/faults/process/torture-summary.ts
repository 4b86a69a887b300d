import type { LoggedLine } from "../harness/service-fleet.ts";
import { formatEvents, formatLog, formatRow } from "../harness/summary.ts";
import type { Fault } from "./process-faults.ts";

interface RunFacts {
  counts: Record<string, number>;
  /** Answers to the client by status; 0: none. */
  answers: ReadonlyMap<number, number>;
  faults: readonly Fault[];
  lines: readonly LoggedLine[];
}

/** Formats the run as a table. */
export function formatSummary({ counts, answers, faults, lines }: RunFacts): string[] {
  const fault = (kind: Fault) => faults.filter((each) => each === kind).length;
  return [
    "",
    formatRow(
      "faults",
      [fault("service"), "service"],
      [fault("postgres"), "PostgreSQL"],
      [fault("backend"), "backend"],
    ),
    formatRow("", [fault("both"), "both at once"], [fault("stop"), "SIGSTOP"]),
    formatRow("records", [counts.acknowledged, "acknowledged"], [counts.lost, "lost"]),
    formatRow(
      "batches",
      [counts.batches, "new"],
      [counts.abandoned, "given up"],
      [counts.abandonedStored, "of them stored"],
    ),
    formatRow(
      "answers",
      ...[...answers].sort().map(([status, count]) => [count, status || "none"] as [number, string]),
    ),
    ...formatEvents(counts),
    formatRow("stops", [counts.paid, "paid"], [counts.canceled, "canceled"], [counts.sentAfterPaid, "sent after PAID"]),
    formatLog(lines),
  ];
}
