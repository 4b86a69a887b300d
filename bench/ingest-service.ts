// A process of `ingest`: the service itself with its API, as in production, over a new database.
import { readFileSync } from "node:fs";
import { start } from "../src/start.ts";
import { prepared } from "../src/store/database.ts";
import { answer } from "./part.ts";
import { type DatabaseFacts, databaseFacts, ingestKey, scratchSettings } from "./scratch.ts";
import { CREATE_TWINS } from "./twins.ts";

export interface IngestFacts extends DatabaseFacts {
  port: number;
  /** Of HTTPS that only parses, where there is some. */
  barePort?: number;
  ca: string;
  apiKey: string;
}

const COUNT = prepared(
  "bench_count",
  `select (select count(*) from invoices) as invoices, (select count(*) from bench_invoices) as twins,
     (select count(*) from cases) as cases, (select count(*) from bench_cases) as "caseTwins",
     (select count(*) from bench_due_cases) as "dueTwins"`,
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
for (const [index, text] of CREATE_TWINS.entries()) await store.owner.run(prepared(`bench_twin_${index}`, text));

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
