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
  /** Holds the data directory, the server's log and, if the path is short enough, its socket. */
  dataDir: string;
  log: Log;
  /**
   * `own` (default): for the service, one per data folder. It restarts the server if it dies. `borrow`: for a short command,
   * beside a service or alone. Both adopt a running server or start one, and stop it only as its last user.
   */
  mode?: UsageMode;
  /** For tests. */
  settings?: Record<string, string>;
  /** The server died and could not be restarted within 30 s. */
  onFatal?: (error: Error) => void;
}

export interface EmbeddedDatabase {
  address: Address;
  adopted: boolean;
  /** Unless another process uses the server. */
  stop(): Promise<void>;
}

/** For a server that a killed process left running. Throws FolderInUse if a service uses it. */
export async function stopEmbedded(dataDir: string, log: Log) {
  const { cluster } = await openServerFolder(dataDir);
  const found = await readPidFile(cluster);
  if (found && isServer(found.pid, cluster)) await (await startEmbedded({ dataDir, log })).stop();
}

/** If our process is killed, the server keeps running, and the next start adopts it. */
export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedDatabase> {
  const { dataDir, log, mode = "own", settings = {}, onFatal } = options;
  const startedAt = performance.now();
  const folder = await openServerFolder(dataDir);
  const launchMethod = await chooseLaunchMethod(folder);
  await openSocketDir(folder, launchMethod);
  if (await initializeCluster(folder, launchMethod)) log.info({ dataDir: folder.cluster }, "database.initialized");

  const serverOptions: ServerOptions = { folder, launchMethod, settings };
  let lock = await acquireUsageLock(serverOptions, mode, false);
  const { pid, spawned, socketDir } = lock.server;
  // A restarted server must use the same socket, even if it was adopted from elsewhere.
  serverOptions.folder = { ...folder, socketDir };
  const durationMs = Math.round(performance.now() - startedAt);
  log.info({ serverPid: pid, socketDir, durationMs }, spawned ? "database.started" : "database.adopted");

  let stopping = false;
  let lost = false;
  let recovery = Promise.resolve();
  const watch = () =>
    lock.connection.onLost(() => {
      if (stopping) return;
      lost = true;
      if (mode === "own") recovery = recover();
    });
  const recover = async () => {
    const formerPid = lock.server.pid;
    log.warn({ serverPid: formerPid }, "database.lost");
    try {
      lock = await acquireUsageLock(serverOptions, mode, true);
      lost = false;
      const serverPid = lock.server.pid;
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
    // If the connection breaks here, the next start adopts the server.
    const last = await releaseUsageLock(lock.connection).catch(() => false);
    if (last) await stopServer(lock.server.pid, folder.cluster, log);
    await lock.connection.close().catch(() => {});
    log.info({ serverPid: lock.server.pid }, last ? "database.stopped" : "database.left");
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
