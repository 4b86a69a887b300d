import type { Tx } from "../postgres/database.ts";
import { SILENT_AFTER_MS } from "../process/silent-processes.ts";
import { listProcesses, type ProcessRow } from "../tables/processes.ts";

interface ProcessFinding {
  verdict: "ok" | "warn";
  what: "processes";
  says: string;
}

const LISTED_PROBLEMS_MAX = 3;

export async function checkProcesses(tx: Tx, realNow: Date): Promise<ProcessFinding[]> {
  const rows = await listProcesses(tx);
  const findings = rows.map((row) => findingOf(row, realNow));
  const versions = new Set(rows.filter((row) => !isSilent(row, realNow)).map(({ version }) => version));
  if (versions.size < 2) return findings;
  const says = `versions ${[...versions].join(" and ")} are running at the same time. Upgrade the older processes soon.`;
  return [...findings, { verdict: "warn", what: "processes", says }];
}

const isSilent = ({ seenAt }: ProcessRow, realNow: Date) => realNow.getTime() - seenAt.getTime() >= SILENT_AFTER_MS;

function findingOf(row: ProcessRow, realNow: Date): ProcessFinding {
  const { host, pid, version, roles, startedAt, seenAt, troubles } = row;
  const what = "processes";
  const who = `${host}/${pid} (version ${version}: ${roles.join(", ")})`;
  const ago = (at: Date) => formatSpan(realNow.getTime() - at.getTime());
  if (isSilent(row, realNow)) {
    const says = `${who} was last seen ${ago(seenAt)} ago: it was killed, hangs, or cannot reach the database.`;
    return { verdict: "warn", what, says };
  }
  if (troubles.length === 0) return { verdict: "ok", what, says: `${who} started ${ago(startedAt)} ago` };
  const listed = troubles
    .slice(0, LISTED_PROBLEMS_MAX)
    .map(
      ({ name, count, last, why }) => `${name} (${count} times, last ${ago(new Date(last))} ago)${why && `: ${why}`}`,
    );
  const more = troubles.length > LISTED_PROBLEMS_MAX ? `; ${troubles.length - LISTED_PROBLEMS_MAX} more` : "";
  return {
    verdict: "warn",
    what,
    says: `${who} has logged problems in the last 10 minutes: ${listed.join("; ")}${more}`,
  };
}

function formatSpan(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 120 ? `${minutes} min` : `${Math.round(minutes / 60)} h`;
}
