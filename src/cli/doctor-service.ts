import { request } from "node:http";
import { formatMoneyText } from "../domain/currency.ts";
import { DAY_MS } from "../domain/durations.ts";
import type { readinessDetails, ServiceFigures } from "../metrics/service-figures.ts";
import { EMBEDDED_RELEASE, NEWER_RELEASE } from "../postgres/embedded/postgres-release.ts";
import type { CommandContext } from "./command.ts";
import { createFinding, type Finding } from "./doctor-finding.ts";

// As in docs/guides/alerts.md.
const DUE_MAX_S = 60;
const LAG_MAX_S = 3_600;
const LOCK_WAITS_MAX = 4;
const TRANSACTION_MAX_S = 120;
const ANSWER_MS = 5_000;
const EMBEDDED_ADVICE =
  "The embedded server is meant for evaluation and small installations. To move to your own server, run: npx dunlin move";

export async function checkService(figures: ServiceFigures): Promise<Finding[]> {
  const [dueS, postponed, lagS, { waiting, longestS }, actions, money] = await Promise.all([
    figures.oldestDueCaseS(),
    figures.postponedCases(),
    figures.learnerLagS(),
    figures.sessions(),
    figures.actions(),
    figures.money(),
  ]);
  const isStuck = waiting > LOCK_WAITS_MAX || longestS > TRANSACTION_MAX_S;
  return [
    dueS > DUE_MAX_S
      ? createFinding(
          "warn",
          "deciding",
          `a case has been due for ${formatSpan(dueS)}. Is a process with the role decide running?`,
        )
      : createFinding(
          "ok",
          "deciding",
          dueS === 0 ? "no case is due" : `the oldest due case has waited ${formatSpan(dueS)}`,
        ),
    postponed > 0
      ? createFinding(
          "warn",
          "postponed",
          `${postponed} cases failed and are postponed. To find them, search the log for decide.failed`,
        )
      : createFinding("ok", "postponed", "no cases"),
    lagS > LAG_MAX_S
      ? createFinding(
          "warn",
          "learning",
          `an outcome has waited ${formatSpan(lagS)} for training. Is a process with the role learn running?`,
        )
      : createFinding(
          "ok",
          "learning",
          lagS === 0 ? "no outcome is waiting" : `the oldest outcome has waited ${formatSpan(lagS)}`,
        ),
    createFinding(
      isStuck ? "warn" : "ok",
      "locks",
      `${waiting} sessions wait for locks; the oldest transaction has been open for ${formatSpan(longestS)}${isStuck ? ". To find who holds the locks, query pg_stat_activity and pg_blocking_pids()" : ""}`,
    ),
    createFinding("ok", "actions", actions.map(({ status, actions: n }) => `${status} ${n}`).join(", ") || "none yet"),
    createFinding(
      "ok",
      "money",
      money.map(({ outcome, currency, amount }) => `${outcome} ${formatMoneyText(amount, currency)}`).join(", ") ||
        "none yet",
    ),
  ];
}

const UNITS = [
  ["days", 86_400],
  ["hours", 3_600],
  ["minutes", 60],
] as const;

/** "3 minutes": the largest unit that fits at least twice. */
function formatSpan(seconds: number): string {
  const [unit, size] = UNITS.find(([, each]) => seconds >= 2 * each) ?? ["s", 1];
  return `${Math.round(seconds / size)} ${unit}`;
}

export function checkEmbeddedServer({ settings, realNow }: CommandContext): Finding[] {
  if (settings.databaseUrl !== null) return [];
  const days = Math.floor((realNow().getTime() - new Date(EMBEDDED_RELEASE.releasedOn).getTime()) / DAY_MS);
  const age = `PostgreSQL ${EMBEDDED_RELEASE.version}, released ${EMBEDDED_RELEASE.releasedOn}, ${days} days old`;
  const behind = NEWER_RELEASE === null ? "" : `; ${NEWER_RELEASE.version} is newer and has more fixes`;
  return [createFinding(NEWER_RELEASE === null ? "ok" : "warn", "embedded", `${age}${behind}. ${EMBEDDED_ADVICE}`)];
}

/** From the running service's metrics port. */
export async function checkConnectionPool({
  settings: { metricsHost, metricsPort },
}: CommandContext): Promise<Finding[]> {
  if (metricsPort === null) return [];
  try {
    const details = await fetchReadiness(metricsHost, metricsPort);
    return details.database.pools.map(({ pool, busy, idle, waitedFor }) =>
      waitedFor > 0
        ? createFinding(
            "warn",
            "pool",
            `${pool}: all ${busy + idle} connections are busy, ${waitedFor} requests wait for one`,
          )
        : createFinding("ok", "pool", `${pool}: ${busy} of ${busy + idle} open connections are busy`),
    );
  } catch (error) {
    const where = `http://${metricsHost}:${metricsPort}/readyz`;
    return [createFinding("warn", "pool", `${where}: ${(error as Error).message}. Is "npx dunlin serve" running?`)];
  }
}

function fetchReadiness(host: string, port: number): Promise<Awaited<ReturnType<typeof readinessDetails>>> {
  return new Promise((resolve, reject) => {
    const call = request({ host, port, path: "/readyz", timeout: ANSWER_MS }, async (reply) => {
      try {
        const pieces = await Array.fromAsync(reply);
        resolve(JSON.parse(Buffer.concat(pieces).toString()));
      } catch (error) {
        reject(error);
      }
    });
    call.on("timeout", () => call.destroy(new Error("no answer within 5 s")));
    call.on("error", reject);
    call.end();
  });
}
