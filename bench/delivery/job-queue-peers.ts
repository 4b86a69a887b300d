import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Address, type Database, prepared } from "../../src/postgres/database.ts";
import type { Endpoint } from "../delivery-receiver.ts";
import { type BenchProcess, startBenchProcess } from "../worker-process.ts";

export interface Peer {
  name: string;
  /** Dunlin's required relative speed. */
  target: number | null;
  way: "best" | "work" | "defaults";
  part: BenchProcess;
  /** Of POSTs, if that is a setting. */
  concurrency: number;
  pids: Record<string, number>;
}

interface PeerKind {
  name: string;
  file: string;
  database?: string;
  ways: { way: Peer["way"]; target: Peer["target"]; concurrency: number }[];
}

const FOLDER = join(import.meta.dirname, "..", "peers");
/** More than any configuration uses. */
const CONNECTIONS = 256;

// The best of 50, 100 and 200 on two cores.
const PEER_KINDS: PeerKind[] = [
  {
    name: "graphile-worker",
    file: "graphile-worker.js",
    database: "peer_graphile_worker",
    ways: [
      { way: "best", target: 1.4, concurrency: 200 },
      { way: "defaults", target: 5, concurrency: 1 },
    ],
  },
  {
    name: "pg-boss",
    file: "pg-boss.js",
    database: "peer_pg_boss",
    ways: [
      { way: "best", target: 1.8, concurrency: 200 },
      { way: "work", target: null, concurrency: 200 },
      { way: "defaults", target: 5, concurrency: 1 },
    ],
  },
  {
    name: "BullMQ",
    file: "bullmq.js",
    ways: [
      { way: "best", target: 2.3, concurrency: 100 },
      { way: "defaults", target: 5, concurrency: 1 },
    ],
  },
];

/** On Dunlin's server; prints how to install missing ones. */
export async function startPeers(db: Database, address: Address, postmaster: number, endpoint: Endpoint) {
  const peers: Peer[] = [];
  const parts: BenchProcess[] = [];
  const missing: string[] = [];
  if (!existsSync(join(FOLDER, "node_modules")))
    return { peers, parts, missing: ['Skipped the peers. To install them, run "npm ci --prefix bench/peers".'] };
  for (const { name, file, database, ways } of PEER_KINDS) {
    const part = await startBenchProcess(join("peers", file));
    parts.push(part);
    if (database === undefined && !(await part.ask<boolean>("available"))) {
      missing.push(`Skipped ${name}: redis-server is not on the PATH (Debian: apt-get install redis-server).`);
      continue;
    }
    if (database !== undefined) await db.run(prepared(`bench_create_${database}`, `create database ${database}`));
    const own = await part.ask<Record<string, number> | undefined>("open", {
      database: database === undefined ? null : { ...connectionUrlOf(address), database },
      endpoint,
      connections: CONNECTIONS,
    });
    const pids = own ?? { PostgreSQL: postmaster };
    for (const way of ways) peers.push({ name: `${name}, ${MODE_LABEL[way.way]}`, part, pids, ...way });
  }
  return { peers, parts, missing };
}

const MODE_LABEL = { best: "at its best", work: "its own loop in bursts", defaults: "defaults" };

function connectionUrlOf(address: Address) {
  if (!("socketDir" in address)) throw new Error("the benchmark has an embedded server");
  return { host: address.socketDir, port: 5432, ssl: false, user: address.user };
}
