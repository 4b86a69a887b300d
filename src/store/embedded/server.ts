import { readFile } from "node:fs/promises";
import { totalmem } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { type Folder, logBytes, openLog } from "./folder.ts";
import { type Launch, launch } from "./launch.ts";
import { disown, endRemains, isServer, readPidFile } from "./pid-file.ts";

/** A server that accepts connections. */
export interface Server {
  pid: number;
  socketDir: string;
  /** Whether this call started it; else it was found running. */
  spawned: boolean;
}

const MIB = 2 ** 20;
const BUFFERS_MIB = { least: 128, most: 1024 };

/** A quarter of the memory this process may use. It is taken only as tables and indexes come to be used. */
function buffersMib(): number {
  const quarter = Math.min(totalmem(), process.constrainedMemory() || totalmem()) / 4 / MIB;
  return Math.floor(Math.min(BUFFERS_MIB.most, Math.max(BUFFERS_MIB.least, quarter)));
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
  shared_buffers: `${buffersMib()}MB`,
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
export interface ServerPlace {
  folder: Folder;
  by: Launch;
  /** Added to the settings above, or put in their place. */
  settings: Record<string, string>;
}

const PATIENCE_MS = 30_000;
// What remains of a server that was killed, for a moment: its process, not yet reaped, or its backends.
const PASSING = /lock file .* already exists|shared memory block .* is still in use/;
const HAS_BACKENDS = /shared memory block .* is still in use/;
/** Backends of a server that was killed may end by themselves for so long. */
const REMAINS_MS = 3_000;

/**
 * Finds the server of this data directory, or starts it, and waits until it accepts connections. A server that ends
 * at once is started again, ever more slowly, for 30 s: after a crash the first ones may find the old one's memory
 * still in use, and what holds it for long is ended. One that is alive but busy (recovering, stopping) is waited for.
 *
 * @param again  whether it ran before: then any reason may pass (a full disk); else only one that is known to pass does
 */
export async function ensureServer(place: ServerPlace, again: boolean): Promise<Server> {
  const { folder, by, settings } = place;
  let logStart = 0;
  let deadSince = performance.now();
  let spawned: Spawned | undefined;
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
        if (deadMs > PATIENCE_MS || !(again || PASSING.test(said))) {
          const reason = /(?:FATAL|PANIC): {2}.*/.exec(said)?.[0] ?? spawned.ended;
          throw new Error(`the embedded database does not start: ${reason} (see ${folder.log})`);
        }
        if (HAS_BACKENDS.test(said) && deadMs > REMAINS_MS) await endRemains(folder.cluster);
        await sleep(pauseMs);
        pauseMs = Math.min(2 * pauseMs, 2_000);
      }
      logStart = await logBytes(folder);
      if (found) await disown(folder.cluster, found, by);
      spawned = await spawnServer(folder, by, settings);
    }
  }
}

interface Spawned {
  pid: number | undefined;
  /** How it ended, once it has. */
  ended: string | undefined;
}

async function spawnServer(folder: Folder, by: Launch, settings: Record<string, string>): Promise<Spawned> {
  const all = { ...SETTINGS, unix_socket_directories: folder.socketDir, ...settings };
  const args = Object.entries(all).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const log = await openLog(folder);
  try {
    // Detached: Ctrl-C at the terminal reaches our process alone, and the server outlives us if we are killed.
    const child = launch(by, "postgres", ["-D", folder.cluster, ...args], {
      cwd: folder.root,
      stdio: ["ignore", log.fd, log.fd],
      detached: true,
    });
    const spawned: Spawned = { pid: child.pid, ended: undefined };
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
