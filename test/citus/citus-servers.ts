import { spawn } from "node:child_process";
import { once } from "node:events";
import { readlinkSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openDatabase, prepared } from "../../src/postgres/database.ts";
import { openServerProcesses, type PostgresProcesses } from "../faults/harness/postgres-processes.ts";
import { createCitusDatabase } from "./citus-database.ts";

/** A server of a cluster on this machine, which a campaign stops, kills and starts again. */
export interface CitusServer {
  /** The campaign's database on this server alone. */
  url: string;
  processes: Omit<PostgresProcesses, "address">;
  stop(): Promise<void>;
  /** Starts it unless it runs. */
  start(): Promise<void>;
}

/** A database on a cluster whose servers run on this machine, in folders that this user may read. */
export interface CitusServers {
  /** By way of the coordinator. */
  url: string;
  /** The coordinator first. */
  servers: readonly CitusServer[];
  /** The servers in turn, so that each one meets the faults. */
  next(): CitusServer;
  /** Starts all servers and removes the database. */
  close(): Promise<void>;
}

const NODES = prepared("", "select nodename as host, nodeport as port from pg_dist_node order by groupid");
const DATA_DIRECTORY = prepared("", "select setting as folder from pg_settings where name = 'data_directory'");

export async function openCitusServers(clusterUrl: string): Promise<CitusServers> {
  const { address, drop } = await createCitusDatabase(clusterUrl);
  const nodes = await readRows<{ host: string; port: number }>(address.url, NODES);
  const servers: CitusServer[] = [];
  for (const { host, port } of nodes) {
    const url = new URL(address.url);
    [url.hostname, url.port] = [host, String(port)];
    const [{ folder }] = (await readRows<{ folder: string }>(url.href, DATA_DIRECTORY)) as [{ folder: string }];
    servers.push(openServer(url, folder));
  }
  let turn = 0;
  return {
    url: address.url,
    servers,
    next: () => servers[turn++ % servers.length]!,
    async close() {
      for (const server of servers) await server.start();
      await drop();
    },
  };
}

function openServer(url: URL, folder: string): CitusServer {
  const backend = new RegExp(` ${url.pathname.slice(1)} `);
  const processes = openServerProcesses(join(folder, "postmaster.pid"), backend);
  const program = join(dirname(readlinkSync(`/proc/${processes.postmaster()}/exe`)), "pg_ctl");
  // PostgreSQL runs as the user that owns its folder.
  const { uid, gid } = statSync(folder);
  const control = async (...words: string[]) => {
    const child = spawn(program, ["-D", folder, "-w", ...words], { uid, gid, stdio: "ignore" });
    const [code] = await once(child, "exit");
    if (code !== 0) throw new Error(`pg_ctl ${words.join(" ")} of ${url.host} ended with ${code}`);
  };
  return {
    url: url.href,
    processes,
    stop: () => control("stop", "-m", "fast"),
    async start() {
      // The children of a killed server may outlive it for a moment, and it cannot start beside them.
      for (let tries = 1; processes.postmaster() === null; tries++)
        await control("-l", `${folder}.log`, "start").catch((error) => {
          if (tries === 20) throw error;
          return sleep(200);
        });
    },
  };
}

async function readRows<Row>(url: string, statement: typeof NODES): Promise<Row[]> {
  const connection = await openDatabase({ url }, 1, () => {}).connect();
  try {
    return (await connection.run<Row>(statement)).rows;
  } finally {
    await connection.close();
  }
}
