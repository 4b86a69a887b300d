import type { Fault } from "./process-faults.ts";
import type { ServiceProcess } from "./service-process.ts";
import type { Problem } from "./verify-records.ts";

interface RunFacts {
  seed: number;
  counts: Record<string, number>;
  /** Answers to the client by status; 0: none. */
  answers: ReadonlyMap<number, number>;
  faults: readonly Fault[];
  service: ServiceProcess;
  problems: readonly Problem[];
}

const SHOWN_MAX = 12;
const SHOWN_LOG_LINES_MAX = 15;
/** Log lines about an unreachable database are expected. */
const rankLogLine = (line: string) => (/request\.failed|crashed|unstorable|"fatal"/.test(line) ? 0 : 1);

/** Formats the run as a table, followed by any problems with the seed to reproduce them. */
export function formatSummary({ seed, counts, answers, faults, service, problems }: RunFacts): string[] {
  const row = (name: string, ...cells: [number | undefined, string][]) =>
    `  ${name.padEnd(10)}${cells.map(([count, what]) => `${String(count ?? 0).padStart(8)} ${what}`).join("")}`;
  const fault = (kind: Fault) => faults.filter((each) => each === kind).length;
  const { delivered = 0, exhausted = 0, withdrawn = 0, waiting = 0 } = counts;
  const lines = [
    "",
    row("faults", [fault("service"), "service"], [fault("postgres"), "PostgreSQL"], [fault("backend"), "backend"]),
    row("", [fault("both"), "both at once"], [fault("stop"), "SIGSTOP"]),
    row("records", [counts.acknowledged, "acknowledged"], [counts.lost, "lost"]),
    row("batches", [counts.batches, "new"], [counts.abandoned, "given up"], [counts.abandonedStored, "of them stored"]),
    row("answers", ...[...answers].sort().map(([status, count]) => [count, status || "none"] as [number, string])),
    row(
      "events",
      [delivered + exhausted + withdrawn + waiting, "all"],
      [delivered, "delivered"],
      [exhausted, "exhausted"],
    ),
    row("", [withdrawn, "withdrawn"], [waiting, "waiting"]),
    row(
      "attempts",
      [counts.attempts, "logged"],
      [counts.requests, "requests"],
      [counts.doubled, "repeated after a kill"],
    ),
    row("", [counts.after200, "of them after an unrecorded 2xx"]),
    row("stops", [counts.paid, "paid"], [counts.canceled, "canceled"], [counts.sentAfterPaid, "sent after PAID"]),
  ];
  const warnings = [...service.logged].filter(([name]) => !/^(info|debug) /.test(name)).sort();
  lines.push(`  log       ${warnings.map(([name, count]) => ` ${count} ${name}`).join(",")}`, "");
  if (problems.length === 0) return [...lines, "No promise was broken."];
  const kinds = Map.groupBy(problems, ({ invariant }) => invariant);
  for (const [invariant, all] of kinds) {
    lines.push(`${invariant}: broken ${all.length} times`);
    for (const { says } of all.slice(0, SHOWN_MAX)) lines.push(`  ${says}`);
  }
  const worst = [...service.complaints].sort((a, b) => rankLogLine(a) - rankLogLine(b)).slice(0, SHOWN_LOG_LINES_MAX);
  lines.push("", "What the service complained of:", ...worst.map((line) => `  ${line}`));
  return [...lines, "", `Broken with --seed ${seed}.`];
}
