import { request } from "node:http";
import { moneyWords } from "../domain/currency.ts";
import { DAY_MS } from "../domain/durations.ts";
import type { readyDetails, ServiceFigures } from "../service-figures.ts";
import { EMBEDDED, NEWER } from "../store/embedded/release.ts";
import type { Context } from "./command.ts";
import { type Finding, finding } from "./doctor-finding.ts";

// The bounds of the alerts in docs/guides/alerts.md.
const DUE_MAX_S = 60;
const LAG_MAX_S = 3_600;
const LOCK_WAITS_MAX = 4;
const TRANSACTION_MAX_S = 120;
const ANSWER_MS = 5_000;
const EMBEDDED_FOR =
  "it is for trying out and for small installations. Otherwise set DATABASE_URL; npx dunlin move takes the data there";

/** Returns whether cases are decided, outcomes learned and locks free, and the totals of actions and money. */
export async function serviceFindings(figures: ServiceFigures): Promise<Finding[]> {
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
      ? finding("warn", "deciding", `a case has been due for ${span(dueS)}. Is a process with the role decide up?`)
      : finding("ok", "deciding", dueS === 0 ? "no case waits" : `the oldest due case waits ${span(dueS)}`),
    aside > 0
      ? finding("warn", "postponed", `${aside} cases whose last step failed. The log names them: decide.failed`)
      : finding("ok", "postponed", "no case"),
    lagS > LAG_MAX_S
      ? finding("warn", "learning", `an outcome has waited ${span(lagS)}. Is a process with the role learn up?`)
      : finding("ok", "learning", lagS === 0 ? "no outcome waits" : `the oldest outcome waits ${span(lagS)}`),
    finding(
      isStuck ? "warn" : "ok",
      "locks",
      `${waiting} sessions wait; the oldest transaction has been open for ${span(longestS)}${isStuck ? ". pg_stat_activity and pg_blocking_pids() name who holds them" : ""}`,
    ),
    finding("ok", "actions", actions.map(({ status, actions: n }) => `${status} ${n}`).join(", ") || "none yet"),
    finding(
      "ok",
      "money",
      money.map(({ outcome, currency, amount }) => `${outcome} ${moneyWords(amount, currency)}`).join(", ") ||
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
function span(seconds: number): string {
  const [unit, size] = UNITS.find(([, each]) => seconds >= 2 * each) ?? ["s", 1];
  return `${Math.round(seconds / size)} ${unit}`;
}

/** Returns the age of the embedded server. */
export function embeddedFinding({ settings, realNow }: Context): Finding[] {
  if (settings.databaseUrl !== null) return [];
  const days = Math.floor((realNow().getTime() - new Date(EMBEDDED.on).getTime()) / DAY_MS);
  const age = `PostgreSQL ${EMBEDDED.version} of ${EMBEDDED.on}, ${days} days old`;
  const behind = NEWER === null ? "" : `; ${NEWER.version} is newer and has more fixes`;
  return [finding(NEWER === null ? "ok" : "warn", "embedded", `${age}${behind}; ${EMBEDDED_FOR}`)];
}

/** Returns the use of the running service's connections, from its metrics listener; empty without one. */
export async function poolFindings({ settings: { metricsHost, metricsPort } }: Context): Promise<Finding[]> {
  if (metricsPort === null) return [];
  try {
    const details = await askReady(metricsHost, metricsPort);
    return details.database.pools.map(({ pool, busy, idle, waitedFor }) =>
      waitedFor > 0
        ? finding(
            "warn",
            "pool",
            `${pool}: all ${busy + idle} connections are busy, ${waitedFor} requests wait for one`,
          )
        : finding("ok", "pool", `${pool}: ${busy} of ${busy + idle} open connections are busy`),
    );
  } catch (error) {
    const where = `http://${metricsHost}:${metricsPort}/readyz`;
    return [finding("warn", "pool", `${where}: ${(error as Error).message}. Is "npx dunlin serve" running?`)];
  }
}

function askReady(host: string, port: number): Promise<Awaited<ReturnType<typeof readyDetails>>> {
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
