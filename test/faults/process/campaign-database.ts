import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pino from "pino";
import { type Address, type Database, openDatabase } from "../../../src/postgres/database.ts";
import { startEmbedded } from "../../../src/postgres/embedded/start.ts";
import { CITUS_URL } from "../../citus/citus-database.ts";
import { openCitusServers } from "../../citus/citus-servers.ts";
import type { CampaignStage } from "../harness/campaign.ts";
import { openPostgresProcesses, type PostgresProcesses, type PreparedKill } from "../harness/postgres-processes.ts";
import type { Environment } from "../harness/service-fleet.ts";

/** The database of a campaign: the one that the service embeds, or one on the cluster for tests. */
export interface CampaignDatabase extends Pick<PostgresProcesses, "address" | "aim" | "aimAtBackend"> {
  /** The service's settings. */
  settings: Environment;
  /** Whether a server that should have ended with the service still runs. */
  isLeftBehind(): boolean;
  /** Reads it while no service runs. */
  read<T>(read: (db: Database) => Promise<T>): Promise<T>;
}

type Ends = CampaignStage["ends"];

export const openCampaignDatabase = async (dataDir: string, ends: Ends): Promise<CampaignDatabase> =>
  CITUS_URL === undefined ? openEmbedded(dataDir, ends) : await openCluster(CITUS_URL, ends);

function openEmbedded(dataDir: string, ends: Ends): CampaignDatabase {
  const { postmaster, ...processes } = openPostgresProcesses(dataDir);
  ends.push(() => processes.aim(true).fire());
  return {
    ...processes,
    settings: {},
    isLeftBehind: () => postmaster() !== null,
    // Opened as the product does, as the last user of the server.
    async read(read) {
      const log = pino({ level: "error" }, pino.destination(2));
      const embedded = await startEmbedded({ dataDir: join(dataDir, "postgres"), log, mode: "borrow" });
      try {
        return await readOnce(embedded.address, read);
      } finally {
        await embedded.stop();
      }
    },
  };
}

/** As a supervisor restarts a server that has ended. */
const RESTART_MS = 1_000;

async function openCluster(clusterUrl: string, ends: Ends): Promise<CampaignDatabase> {
  const cluster = await openCitusServers(clusterUrl);
  const address: Address = { url: cluster.url, isDistributed: true };
  const restarts: Promise<void>[] = [];
  ends.push(async () => {
    await Promise.all(restarts);
    await cluster.close();
  });
  const withRestart = (prepare: (processes: PostgresProcesses) => PreparedKill): PreparedKill => {
    const server = cluster.next();
    const { pids, fire } = prepare({ ...server.processes, address: () => address });
    return {
      pids,
      fire() {
        fire();
        restarts.push(sleep(RESTART_MS).then(server.start));
      },
    };
  };
  return {
    settings: { DATABASE_URL: cluster.url, DUNLIN_CLOCK_RATE_CONFIRM: "yes" },
    address: () => address,
    aim: (all) => withRestart((processes) => processes.aim(all)),
    aimAtBackend: (draw) => withRestart((processes) => processes.aimAtBackend(draw)),
    isLeftBehind: () => false,
    read: (read) => readOnce(address, read),
  };
}

async function readOnce<T>(address: Address, read: (db: Database) => Promise<T>): Promise<T> {
  const db = openDatabase(address, 1, () => {});
  try {
    return await read(db);
  } finally {
    await db.close();
  }
}
