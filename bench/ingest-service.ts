// A process of `ingest`: the service itself with its API, as in production, over a new database.
import { readFileSync } from "node:fs";
import { createApiKey } from "../src/auth/api-keys.ts";
import { createMerchant } from "../src/recovery/merchants.ts";
import { start } from "../src/start.ts";
import { prepared } from "../src/store/database.ts";
import { answer } from "./part.ts";
import { type DatabaseFacts, databaseFacts, scratchSettings } from "./scratch.ts";

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
      const { owner: db, ports, secretKey, address } = store;
      const limits = { ratePerSecond: 1_000_000, rateBurst: 1_000_000 };
      const merchant = await createMerchant(db, "Bench", limits, secretKey, ports);
      const key = { merchantId: merchant.id, permissions: ["ingest:invoices"] as const };
      const { apiKey } = await createApiKey(db, key, ports);
      const facts = await databaseFacts(db, address, settings.dataDir);
      return { ...facts, port: settings.port, ca: readFileSync(caPath!, "utf8"), apiKey };
    },
    counts: async () => (await store.owner.run(COUNT)).rows[0],
  },
  async () => {
    await running.stop();
    await remove();
  },
);
