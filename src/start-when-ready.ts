import { setTimeout as sleep } from "node:timers/promises";
import type { Logger as Log } from "pino";
import type { Settings } from "./config/config.ts";
import { loadTlsIdentity } from "./config/tls-identity.ts";
import { checkPortIsFree } from "./http/listener.ts";
import { isOutage } from "./postgres/database-errors.ts";
import { findDatabaseProblem } from "./postgres/reachability.ts";
import { startUnavailableServer } from "./process/unavailable-server.ts";
import { type RunningService, type StartOptions, start } from "./start.ts";

/** A process may take 35 seconds to stop, and the next version may start before that. */
const PORT_WAIT_MS = 40_000;
const PORT_POLL_MS = 500;
const DATABASE_POLL_MS = 250;
const DATABASE_POLL_MAX_MS = 5_000;

export interface WaitOptions {
  /**
   * How long to wait for the database and for a port in use, in real milliseconds. Null waits 40 s for a port, and
   * forever for the database.
   */
  waitMs: number | null;
  /** Resolves when the process is asked to stop. */
  stopped: Promise<void>;
  monotonicMs(): number;
  realNow(): Date;
}

/**
 * Starts the service when its ports are free and its database accepts writes.
 *
 * @returns null if it was asked to stop meanwhile
 * @throws an error that waiting does not fix, or the last one when the time is over
 */
export async function startWhenReady(options: StartOptions, waiting: WaitOptions): Promise<RunningService | null> {
  const { settings, roles, log } = options;
  const startedMs = waiting.monotonicMs();
  const servesHttp = roles.has("api") || roles.has("console");
  let isStopped = false;
  const stopped = waiting.stopped.then(() => {
    isStopped = true;
  });
  const ports = [
    [settings.metricsHost, settings.metricsPort],
    [settings.host, servesHttp ? settings.port : null],
  ] as const;
  // Not for an embedded database: the lock of its folder gives a better error.
  for (const [host, port] of ports)
    if (
      settings.databaseUrl &&
      port !== null &&
      !(await waitForPort(host, port, log, waiting, stopped, () => isStopped))
    )
      return null;
  for (;;) {
    try {
      return await start(options);
    } catch (error) {
      if (!settings.databaseUrl || !isOutage(error)) throw error;
      const isLate = () => waiting.waitMs !== null && waiting.monotonicMs() - startedMs >= waiting.waitMs;
      if (isLate()) throw error;
      await waitForDatabase(settings, servesHttp, log, error as Error, waiting, stopped, () => isStopped || isLate());
      if (isStopped) return null;
    }
  }
}

/** Waits while another process, such as the previous version, uses the port. */
async function waitForPort(
  host: string,
  port: number,
  log: Log,
  { waitMs, monotonicMs }: WaitOptions,
  stopped: Promise<void>,
  isStopped: () => boolean,
) {
  const portWaitMs = Math.min(PORT_WAIT_MS, waitMs ?? PORT_WAIT_MS);
  const startedMs = monotonicMs();
  for (let checks = 0; !isStopped(); checks++)
    try {
      await checkPortIsFree(host, port);
      if (checks > 0) log.info({ host, port, waitedMs: Math.round(monotonicMs() - startedMs) }, "port.free");
      return true;
    } catch (error) {
      const isTaken = (error as NodeJS.ErrnoException).code === "EADDRINUSE";
      if (!isTaken || monotonicMs() - startedMs >= portWaitMs) throw error;
      if (checks === 0) log.warn({ host, port, waitMs: portWaitMs }, "port.taken");
      await Promise.race([stopped, sleep(PORT_POLL_MS)]);
    }
  return false;
}

/**
 * Waits until the database accepts writes. Meanwhile the port answers that it is unreachable. Only the log says why,
 * because the reason may contain an address.
 */
async function waitForDatabase(
  settings: Settings,
  servesHttp: boolean,
  log: Log,
  error: Error,
  waiting: WaitOptions,
  stopped: Promise<void>,
  isOver: () => boolean,
) {
  const { monotonicMs, realNow } = waiting;
  const startedMs = monotonicMs();
  let reason = error.message;
  log.warn({ why: reason }, "database.unreachable");
  const unavailable = servesHttp
    ? await startUnavailableServer((await loadTlsIdentity(settings, realNow())).tls, settings.host, settings.port, log)
    : null;
  try {
    for (let pauseMs = DATABASE_POLL_MS; !isOver(); pauseMs = Math.min(2 * pauseMs, DATABASE_POLL_MAX_MS)) {
      await Promise.race([stopped, sleep(pauseMs)]);
      const problem = await findDatabaseProblem({ url: settings.databaseUrl! });
      if (problem === null) {
        log.info({ waitedMs: Math.round(monotonicMs() - startedMs) }, "database.reached");
        return;
      }
      if (problem !== reason) log.warn({ why: problem }, "database.unreachable");
      reason = problem;
    }
  } finally {
    await unavailable?.close();
  }
}
