import { setTimeout as sleep } from "node:timers/promises";
import type { Logger as Log } from "pino";
import type { Settings } from "./config/config.ts";
import { loadTlsIdentity } from "./config/tls-identity.ts";
import { checkPortIsFree } from "./http/listener.ts";
import { isOutage } from "./postgres/database-errors.ts";
import { findDatabaseProblem } from "./postgres/reachability.ts";
import { startUnavailableServer } from "./process/unavailable-server.ts";
import { type RunningService, type StartOptions, start } from "./start.ts";

/** A stop takes up to 35 seconds, and the next version may be started before it is over. */
const PORT_WAIT_MS = 40_000;
const PORT_POLL_MS = 500;
const DATABASE_POLL_MS = 250;
const DATABASE_POLL_MAX_MS = 5_000;

export interface WaitOptions {
  /** How long the database and a taken port are waited for, in real milliseconds; null: a port for 40 s, the database for ever. */
  waitMs: number | null;
  /** Resolves when nobody wants the service any more. */
  stopped: Promise<void>;
  monotonicMs(): number;
  realNow(): Date;
}

/**
 * Starts the service as soon as its ports are free and its database takes writes.
 *
 * @returns null if it was asked to stop meanwhile
 * @throws what waiting does not mend, and what kept it waiting when its patience is at its end
 */
export async function startWhenReady(options: StartOptions, patience: WaitOptions): Promise<RunningService | null> {
  const { settings, roles, log } = options;
  const begunAt = patience.monotonicMs();
  const answers = roles.has("api") || roles.has("console");
  let isStopped = false;
  const stopped = patience.stopped.then(() => {
    isStopped = true;
  });
  const ports = [
    [settings.metricsHost, settings.metricsPort],
    [settings.host, answers ? settings.port : null],
  ] as const;
  // On a folder that another service has, the folder says more than the port.
  for (const [host, port] of ports)
    if (
      settings.databaseUrl &&
      port !== null &&
      !(await waitForPort(host, port, log, patience, stopped, () => isStopped))
    )
      return null;
  for (;;) {
    try {
      return await start(options);
    } catch (error) {
      if (!settings.databaseUrl || !isOutage(error)) throw error;
      const isLate = () => patience.waitMs !== null && patience.monotonicMs() - begunAt >= patience.waitMs;
      if (isLate()) throw error;
      await waitForDatabase(settings, answers, log, error as Error, patience, stopped, () => isStopped || isLate());
      if (isStopped) return null;
    }
  }
}

/** Waits while another process has the port, which may be the version before on its way out. */
async function waitForPort(
  host: string,
  port: number,
  log: Log,
  { waitMs, monotonicMs }: WaitOptions,
  stopped: Promise<void>,
  isStopped: () => boolean,
) {
  const portWaitMs = Math.min(PORT_WAIT_MS, waitMs ?? PORT_WAIT_MS);
  const begunAt = monotonicMs();
  for (let looks = 0; !isStopped(); looks++)
    try {
      await checkPortIsFree(host, port);
      if (looks > 0) log.info({ host, port, waitedMs: Math.round(monotonicMs() - begunAt) }, "port.free");
      return true;
    } catch (error) {
      const isTaken = (error as NodeJS.ErrnoException).code === "EADDRINUSE";
      if (!isTaken || monotonicMs() - begunAt >= portWaitMs) throw error;
      if (looks === 0) log.warn({ host, port, waitMs: portWaitMs }, "port.taken");
      await Promise.race([stopped, sleep(PORT_POLL_MS)]);
    }
  return false;
}

/** Waits until the database takes writes. Meanwhile the port says that it is out of reach; only the log says why, for callers need no address of ours. */
async function waitForDatabase(
  settings: Settings,
  answers: boolean,
  log: Log,
  error: Error,
  patience: WaitOptions,
  stopped: Promise<void>,
  givesUp: () => boolean,
) {
  const { monotonicMs, realNow } = patience;
  const begunAt = monotonicMs();
  let why: string | null = error.message;
  log.warn({ why }, "database.unreachable");
  const room = answers
    ? await startUnavailableServer((await loadTlsIdentity(settings, realNow())).tls, settings.host, settings.port, log)
    : null;
  try {
    for (let pauseMs = DATABASE_POLL_MS; !givesUp(); pauseMs = Math.min(2 * pauseMs, DATABASE_POLL_MAX_MS)) {
      await Promise.race([stopped, sleep(pauseMs)]);
      const now = await findDatabaseProblem({ url: settings.databaseUrl! });
      if (now === null) {
        log.info({ waitedMs: Math.round(monotonicMs() - begunAt) }, "database.reached");
        return;
      }
      if (now !== why) log.warn({ why: now }, "database.unreachable");
      why = now;
    }
  } finally {
    await room?.close();
  }
}
