import type { Logger as Log } from "pino";
import type { Address } from "../database.ts";
import { initializeCluster, openSocketDir } from "./initialize.ts";
import { chooseLaunchMethod } from "./launch.ts";
import { isServer, readPidFile } from "./pid-file.ts";
import type { ServerOptions } from "./server.ts";
import { openServerFolder } from "./server-folder.ts";
import { stopServer } from "./stop.ts";
import { acquireUsageLock, addressOf, releaseUsageLock, type UsageMode } from "./usage-lock.ts";

export interface EmbeddedOptions {
  /** The folder that holds the data directory, the server's log and, if the path is short enough, its socket. */
  dataDir: string;
  log: Log;
  /**
   * `own` (default): for the service, of which a data folder has one; it watches the server and starts it again when it
   * dies. `borrow`: for a short command, which runs beside a service or alone.
   * Both adopt a server that is running, start one where none is, and on stop() end it only as its last user.
   */
  mode?: UsageMode;
  /** Further settings of the server; for tests. */
  settings?: Record<string, string>;
  /** Told when the server died and could not be started again within 30 s. */
  onFatal?: (error: Error) => void;
}

export interface EmbeddedDatabase {
  address: Address;
  /** Whether the server was found running. */
  adopted: boolean;
  /** Leaves the server, and stops it unless somebody else uses it. */
  stop(): Promise<void>;
}

/** End the server that a killed process left on a folder; throws FolderTaken while a service uses it. */
export async function stopEmbedded(dataDir: string, log: Log) {
  const { cluster } = await openServerFolder(dataDir);
  const found = await readPidFile(cluster);
  if (found && isServer(found.pid, cluster)) await (await startEmbedded({ dataDir, log })).stop();
}

/** Runs PostgreSQL from npm's binaries. When our process is killed the server lives on, and the next start adopts it. */
export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedDatabase> {
  const { dataDir, log, mode = "own", settings = {}, onFatal } = options;
  const startedAt = performance.now();
  const folder = await openServerFolder(dataDir);
  const by = await chooseLaunchMethod(folder);
  await openSocketDir(folder, by);
  if (await initializeCluster(folder, by)) log.info({ dataDir: folder.cluster }, "database.initialized");

  const place: ServerOptions = { folder, launchMethod: by, settings };
  let seat = await acquireUsageLock(place, mode, false);
  const { pid, spawned, socketDir } = seat.server;
  // Started again, it has to be where our address says, even if it was adopted from elsewhere.
  place.folder = { ...folder, socketDir };
  const durationMs = Math.round(performance.now() - startedAt);
  log.info({ serverPid: pid, socketDir, durationMs }, spawned ? "database.started" : "database.adopted");

  let stopping = false;
  let lost = false;
  let recovery = Promise.resolve();
  const watch = () =>
    seat.connection.onLost(() => {
      if (stopping) return;
      lost = true;
      if (mode === "own") recovery = recover();
    });
  const recover = async () => {
    const formerPid = seat.server.pid;
    log.warn({ serverPid: formerPid }, "database.lost");
    try {
      seat = await acquireUsageLock(place, mode, true);
      lost = false;
      const serverPid = seat.server.pid;
      log.warn({ serverPid, formerPid }, serverPid === formerPid ? "database.reconnected" : "database.restarted");
      watch();
    } catch (error) {
      log.fatal({ err: error }, "database.failed");
      onFatal?.(error as Error);
    }
  };
  watch();

  const leaveServer = async () => {
    stopping = true;
    await recovery;
    if (lost) return;
    // A connection that breaks right now leaves a server to be adopted by the next start.
    const last = await releaseUsageLock(seat.connection).catch(() => false);
    if (last) await stopServer(seat.server.pid, folder.cluster, log);
    await seat.connection.close().catch(() => {});
    log.info({ serverPid: seat.server.pid }, last ? "database.stopped" : "database.left");
  };
  let stopped: Promise<void> | undefined;
  return {
    address: addressOf(socketDir),
    adopted: !spawned,
    stop() {
      stopped ??= leaveServer();
      return stopped;
    },
  };
}
