// A process of `ingest`: the service itself with its API, as in production, over a new database.
import { readFileSync } from "node:fs";
import { start } from "../src/start.ts";
import { prepared } from "../src/store/database.ts";
import { answer } from "./part.ts";
import { type DatabaseFacts, databaseFacts, ingestKey, scratchSettings } from "./scratch.ts";

export interface IngestFacts extends DatabaseFacts {
  port: number;
  /** Of HTTPS that only parses, where there is some. */
  barePort?: number;
  ca: string;
  apiKey: string;
}

/** The table that plain COPY writes to: the same columns, checks, fill factor and indexes. */
const TWIN = prepared("bench_twin", "create table bench_invoices (like invoices including all)");
const COUNT = prepared(
  "bench_count",
  `select (select count(*) from invoices) as invoices, (select count(*) from bench_invoices) as twins,
     (select count(*) from cases) as cases`,
);

const { settings, log, remove } = await scratchSettings();
const running = await start({
  settings,
  roles: new Set(["api"]),
  log,
  onFatal: (error) => {
    throw error;
  },
});
const { store, caPath } = running;
await store.owner.run(TWIN);

answer(
  {
    async facts(): Promise<IngestFacts> {
      const facts = await databaseFacts(store.owner, store.address, settings.dataDir);
      return { ...facts, port: settings.port, ca: readFileSync(caPath!, "utf8"), apiKey: await ingestKey(store) };
    },
    counts: async () => (await store.owner.run(COUNT)).rows[0],
  },
  async () => {
    await running.stop();
    await remove();
  },
);
