import { readFile } from "node:fs/promises";
import { totalmem } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { type LaunchMethod, launchProgram } from "./launch.ts";
import { isServer, killOrphanedBackends, readPidFile, takeOverPidFile } from "./pid-file.ts";
import { openServerLog, type ServerFolder, serverLogBytes } from "./server-folder.ts";

/** A server that accepts connections. */
export interface EmbeddedServer {
  pid: number;
  socketDir: string;
  /** Whether this call started it; else it was found running. */
  spawned: boolean;
}

const MIB = 2 ** 20;
const BUFFERS_MIB_RANGE = { least: 128, most: 1024 };

/** A quarter of the memory this process may use. It is taken only as tables and indexes come to be used. */
function sharedBuffersMib(): number {
  const quarter = Math.min(totalmem(), process.constrainedMemory() || totalmem()) / 4 / MIB;
  return Math.floor(Math.min(BUFFERS_MIB_RANGE.most, Math.max(BUFFERS_MIB_RANGE.least, quarter)));
}

/** Settings given on the command line, where nothing written into the data directory can weaken them. */
const SETTINGS = {
  listen_addresses: "",
  port: "5432",
  unix_socket_permissions: "0700",
  fsync: "on",
  synchronous_commit: "on",
  full_page_writes: "on",
  // Tables grow fast from nothing at first, and plans made without statistics stay: 35 to 26 µs a record in an import.
  autovacuum_naptime: "5s",
  // With PostgreSQL's own 128 MB, pages of a table in use are read and checked again and again: 25 to 31 µs a record.
  shared_buffers: `${sharedBuffersMib()}MB`,
  // Each checkpoint makes the next change of every page log the whole page, four times the log that records leave otherwise.
  max_wal_size: "4GB",
  timezone: "UTC",
  log_timezone: "UTC",
  log_checkpoints: "off",
  // A failed statement's text and its values are not for a log file.
  log_min_error_statement: "panic",
  log_error_verbosity: "terse",
};

/** Where a server runs, as whom and how. */
export interface ServerOptions {
  folder: ServerFolder;
  launchMethod: LaunchMethod;
  /** Added to the settings above, or put in their place. */
  settings: Record<string, string>;
}

const START_TIMEOUT_MS = 30_000;
// What remains of a server that was killed, for a moment: its process, not yet reaped, or its backends.
const TRANSIENT_START_FAILURE = /lock file .* already exists|shared memory block .* is still in use/;
const OLD_BACKENDS_ALIVE = /shared memory block .* is still in use/;
/** Backends of a server that was killed may end by themselves for so long. */
const OLD_BACKENDS_WAIT_MS = 3_000;

/**
 * Finds the server of this data directory, or starts it, and waits until it accepts connections. A server that ends
 * at once is started again, ever more slowly, for 30 s: after a crash the first ones may find the old one's memory
 * still in use, and what holds it for long is ended. One that is alive but busy (recovering, stopping) is waited for.
 *
 * @param again  whether it ran before: then any reason may pass (a full disk); else only one that is known to pass does
 */
export async function ensureServer(place: ServerOptions, again: boolean): Promise<EmbeddedServer> {
  const { folder, launchMethod, settings } = place;
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
        const said = (await readFile(folder.log)).subarray(logStart).toString("utf8");
        const deadMs = performance.now() - deadSince;
        if (deadMs > START_TIMEOUT_MS || !(again || TRANSIENT_START_FAILURE.test(said))) {
          const reason = /(?:FATAL|PANIC): {2}.*/.exec(said)?.[0] ?? spawned.ended;
          throw new Error(`the embedded database does not start: ${reason} (see ${folder.log})`);
        }
        if (OLD_BACKENDS_ALIVE.test(said) && deadMs > OLD_BACKENDS_WAIT_MS) await killOrphanedBackends(folder.cluster);
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
  /** How it ended, once it has. */
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
    // Detached: Ctrl-C at the terminal reaches our process alone, and the server outlives us if we are killed.
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
