import { readFile } from "node:fs/promises";
import { totalmem } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { type LaunchMethod, launchProgram } from "./launch.ts";
import { isServer, killOrphanedBackends, readPidFile, takeOverPidFile } from "./pid-file.ts";
import { openServerLog, type ServerFolder, serverLogBytes } from "./server-folder.ts";

/** It accepts connections. */
export interface EmbeddedServer {
  pid: number;
  socketDir: string;
  /** Whether this call started it. */
  spawned: boolean;
}

const MIB = 2 ** 20;
const BUFFERS_MIB_RANGE = { least: 128, most: 1024 };

/** A quarter of the available memory, which PostgreSQL uses only as tables are read. */
function sharedBuffersMib(): number {
  const quarter = Math.min(totalmem(), process.constrainedMemory() || totalmem()) / 4 / MIB;
  return Math.floor(Math.min(BUFFERS_MIB_RANGE.most, Math.max(BUFFERS_MIB_RANGE.least, quarter)));
}

/** Settings in the data directory cannot weaken those on the command line. */
const SETTINGS = {
  listen_addresses: "",
  port: "5432",
  unix_socket_permissions: "0700",
  fsync: "on",
  synchronous_commit: "on",
  full_page_writes: "on",
  // Tables grow fast at first, and plans made without statistics persist.
  autovacuum_naptime: "5s",
  // With the default of 128 MB, pages in use would be read and verified repeatedly.
  shared_buffers: `${sharedBuffersMib()}MB`,
  // After each checkpoint, a page's first change logs the whole page, which quadruples the log.
  max_wal_size: "4GB",
  timezone: "UTC",
  log_timezone: "UTC",
  log_checkpoints: "off",
  // Logs must not contain a failed statement's values.
  log_min_error_statement: "panic",
  log_error_verbosity: "terse",
};

export interface ServerOptions {
  folder: ServerFolder;
  launchMethod: LaunchMethod;
  /** Override those above. */
  settings: Record<string, string>;
}

const START_TIMEOUT_MS = 30_000;
// A killed server's remains that disappear soon: its unreaped process, or its backends.
const TRANSIENT_START_FAILURE = /lock file .* already exists|shared memory block .* is still in use/;
const OLD_BACKENDS_ALIVE = /shared memory block .* is still in use/;
const OLD_BACKENDS_WAIT_MS = 3_000;

/**
 * Finds or starts the server, and waits until it accepts connections.
 *
 * A server that ends at once is started again, with growing pauses, for 30 s: after a crash, the old server's memory may still be
 * in use. Old backends that hold it for long are killed. A server that is recovering or stopping is waited for.
 *
 * @param isRestart  after a restart, every failure may be temporary (such as a full disk); otherwise only known ones are
 */
export async function ensureServer(options: ServerOptions, isRestart: boolean): Promise<EmbeddedServer> {
  const { folder, launchMethod, settings } = options;
  let logStart = 0;
  let deadSince = performance.now();
  let spawned: SpawnResult | undefined;
  for (let pauseMs = 50; ; ) {
    const found = await readPidFile(folder.cluster);
    if (found && isServer(found.pid, folder.cluster)) {
      if (found.ready) return { pid: found.pid, socketDir: found.socketDir, spawned: found.pid === spawned?.pid };
      deadSince = performance.now();
      await sleep(10);
    } else if (spawned && !spawned.ended) {
      await sleep(5);
    } else {
      if (spawned?.ended) {
        const output = (await readFile(folder.log)).subarray(logStart).toString("utf8");
        const deadMs = performance.now() - deadSince;
        if (deadMs > START_TIMEOUT_MS || !(isRestart || TRANSIENT_START_FAILURE.test(output))) {
          const reason = /(?:FATAL|PANIC): {2}.*/.exec(output)?.[0] ?? spawned.ended;
          throw new Error(`the embedded database does not start: ${reason} (see ${folder.log})`);
        }
        if (OLD_BACKENDS_ALIVE.test(output) && deadMs > OLD_BACKENDS_WAIT_MS)
          await killOrphanedBackends(folder.cluster);
        await sleep(pauseMs);
        pauseMs = Math.min(2 * pauseMs, 2_000);
      }
      logStart = await serverLogBytes(folder);
      if (found) await takeOverPidFile(folder.cluster, found, launchMethod);
      spawned = await spawnServer(folder, launchMethod, settings);
    }
  }
}

interface SpawnResult {
  pid: number | undefined;
  ended: string | undefined;
}

async function spawnServer(
  folder: ServerFolder,
  by: LaunchMethod,
  settings: Record<string, string>,
): Promise<SpawnResult> {
  const all = { ...SETTINGS, unix_socket_directories: folder.socketDir, ...settings };
  const args = Object.entries(all).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const log = await openServerLog(folder);
  try {
    // Detached, so that Ctrl-C reaches only our process, and the server survives if we are killed.
    const child = launchProgram(by, "postgres", ["-D", folder.cluster, ...args], {
      cwd: folder.root,
      stdio: ["ignore", log.fd, log.fd],
      detached: true,
    });
    const spawned: SpawnResult = { pid: child.pid, ended: undefined };
    child.once("error", (error) => {
      spawned.ended = error.message;
    });
    child.once("exit", (code, signal) => {
      spawned.ended = `it ended with ${code ?? signal}`;
    });
    child.unref();
    return spawned;
  } finally {
    await log.close();
  }
}
