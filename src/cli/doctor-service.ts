import { request } from "node:http";
import { formatMoneyText } from "../domain/currency.ts";
import { DAY_MS } from "../domain/durations.ts";
import type { readinessDetails, ServiceFigures } from "../metrics/service-figures.ts";
import { EMBEDDED_RELEASE, NEWER_RELEASE } from "../postgres/embedded/postgres-release.ts";
import type { CommandContext } from "./command.ts";
import { createFinding, type Finding } from "./doctor-finding.ts";

// The bounds of the alerts in docs/guides/alerts.md.
const DUE_MAX_S = 60;
const LAG_MAX_S = 3_600;
const LOCK_WAITS_MAX = 4;
const TRANSACTION_MAX_S = 120;
const ANSWER_MS = 5_000;
const EMBEDDED_ADVICE =
  "it is for trying out and for small installations. Otherwise set DATABASE_URL; npx dunlin move takes the data there";

/** Returns whether cases are decided, outcomes learned and locks free, and the totals of actions and money. */
export async function checkService(figures: ServiceFigures): Promise<Finding[]> {
  const [dueS, aside, lagS, { waiting, longestS }, actions, money] = await Promise.all([
    figures.oldestDueCaseS(),
    figures.casesAside(),
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
          `a case has been due for ${formatSpan(dueS)}. Is a process with the role decide up?`,
        )
      : createFinding("ok", "deciding", dueS === 0 ? "no case waits" : `the oldest due case waits ${formatSpan(dueS)}`),
    aside > 0
      ? createFinding("warn", "postponed", `${aside} cases whose last step failed. The log names them: decide.failed`)
      : createFinding("ok", "postponed", "no case"),
    lagS > LAG_MAX_S
      ? createFinding(
          "warn",
          "learning",
          `an outcome has waited ${formatSpan(lagS)}. Is a process with the role learn up?`,
        )
      : createFinding(
          "ok",
          "learning",
          lagS === 0 ? "no outcome waits" : `the oldest outcome waits ${formatSpan(lagS)}`,
        ),
    createFinding(
      isStuck ? "warn" : "ok",
      "locks",
      `${waiting} sessions wait; the oldest transaction has been open for ${formatSpan(longestS)}${isStuck ? ". pg_stat_activity and pg_blocking_pids() name who holds them" : ""}`,
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

/** "3 minutes": in the largest unit that fits at least twice. */
function formatSpan(seconds: number): string {
  const [unit, size] = UNITS.find(([, each]) => seconds >= 2 * each) ?? ["s", 1];
  return `${Math.round(seconds / size)} ${unit}`;
}

/** Returns the age of the embedded server. */
export function checkEmbeddedServer({ settings, realNow }: CommandContext): Finding[] {
  if (settings.databaseUrl !== null) return [];
  const days = Math.floor((realNow().getTime() - new Date(EMBEDDED_RELEASE.releasedOn).getTime()) / DAY_MS);
  const age = `PostgreSQL ${EMBEDDED_RELEASE.version} of ${EMBEDDED_RELEASE.releasedOn}, ${days} days old`;
  const behind = NEWER_RELEASE === null ? "" : `; ${NEWER_RELEASE.version} is newer and has more fixes`;
  return [createFinding(NEWER_RELEASE === null ? "ok" : "warn", "embedded", `${age}${behind}; ${EMBEDDED_ADVICE}`)];
}

/** Returns the use of the running service's connections, from its metrics listener; empty without one. */
export async function checkConnectionPool({
  settings: { metricsHost, metricsPort },
}: CommandContext): Promise<Finding[]> {
  if (metricsPort === null) return [];
  try {
    const details = await askReady(metricsHost, metricsPort);
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

function askReady(host: string, port: number): Promise<Awaited<ReturnType<typeof readinessDetails>>> {
  return new Promise((resolve, reject) => {
    const asked = request({ host, port, path: "/readyz", timeout: ANSWER_MS }, async (reply) => {
      try {
        const pieces = await Array.fromAsync(reply);
        resolve(JSON.parse(Buffer.concat(pieces).toString()));
      } catch (error) {
        reject(error);
      }
    });
    asked.on("timeout", () => asked.destroy(new Error("no answer within 5 s")));
    asked.on("error", reject);
    asked.end();
  });
}
