import { randomBytes } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Logger as Log } from "pino";
import { anchorClock, realPorts } from "./clock.ts";
import type { Settings } from "./config.ts";
import type { Ports } from "./domain/ports.ts";
import { type Address, type Database, openDatabase } from "./store/database.ts";
import { startEmbedded } from "./store/embedded/start.ts";
import { migrate } from "./store/migrate.ts";

/** The database of this installation, migrated, with its clock and its key. */
export interface Store {
  address: Address;
  db: Database;
  ports: Ports;
  secretKey: Buffer;
  close(): Promise<void>;
}

/**
 * @param mode  `own` for the service, which anchors the clock and keeps the embedded server running; `borrow` for a
 *   short command beside it
 * @param onFatal  the embedded server died and could not be started again
 */
export async function openStore(
  settings: Settings,
  mode: "own" | "borrow",
  connections: number,
  log: Log,
  onFatal: (error: Error) => void,
): Promise<Store> {
  mkdirSync(settings.dataDir, { recursive: true });
  const embedded = settings.databaseUrl
    ? null
    : await startEmbedded({ dataDir: join(settings.dataDir, "postgres"), log, mode, onFatal });
  try {
    const address: Address = embedded?.address ?? { url: settings.databaseUrl! };
    await migrate(address, log);
    const db = openDatabase(address, connections, (error) => log.warn({ err: error }, "database.connection_lost"));
    const anchor = await anchorClock(db, mode === "own" ? (settings.clockRate ?? 1) : null, new Date());
    return {
      address,
      db,
      ports: realPorts(anchor),
      secretKey: settings.secretKey ?? secretKeyIn(settings.dataDir),
      async close() {
        await db.close();
        await embedded?.stop();
      },
    };
  } catch (error) {
    await embedded?.stop();
    throw error;
  }
}

/** The key of the credentials at rest: made once, kept in a file that only its owner reads. */
function secretKeyIn(dataDir: string): Buffer {
  const path = join(dataDir, "secret.key");
  if (!existsSync(path)) writeSecret(path, randomBytes(32).toString("base64"));
  const key = Buffer.from(readFileSync(path, "utf8").trim(), "base64");
  if (key.length !== 32) throw new Error(`${path} does not hold 32 bytes in base64`);
  return key;
}

/** Write a file that only its owner may read. */
export function writeSecret(path: string, text: string) {
  writeFileSync(path, `${text}\n`, { mode: 0o600 });
  chmodSync(path, 0o600);
}
