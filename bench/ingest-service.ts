// A process of `ingest`: the service with its API over a new database, and an HTTPS server that only parses.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { CREATE_TWINS } from "../lab/studies/twin-tables.ts";
import { ensureLocalCertificate } from "../src/http/local-certificate.ts";
import { prepared } from "../src/postgres/database.ts";
import { start } from "../src/start.ts";
import { startBaselineServer } from "./baseline-https.ts";
import { createIngestKey, createScratchSettings, type DatabaseFacts, readDatabaseFacts } from "./scratch-database.ts";
import { serveRequests } from "./worker-process.ts";

export interface IngestFacts extends DatabaseFacts {
  port: number;
  /** The server that only parses. */
  barePort: number;
  ca: string;
  apiKey: string;
}

const COUNT = prepared(
  "bench_count",
  `select (select count(*) from invoices) as invoices, (select count(*) from bench_invoices) as twins,
     (select count(*) from cases) as cases, (select count(*) from bench_cases) as "caseTwins",
     (select count(*) from bench_due_cases) as "dueTwins"`,
);

const { settings, log, remove } = await createScratchSettings();
const running = await start({
  settings,
  roles: new Set(["api"]),
  log,
  onFatal: (error) => {
    throw error;
  },
});
const { store, caPath } = running;
const { cert, key } = await ensureLocalCertificate(join(settings.dataDir, "tls"), settings.host, store.ports.realNow());
const bare = await startBaselineServer({ cert, key }, settings.host);
for (const [index, text] of CREATE_TWINS.entries()) await store.owner.run(prepared(`bench_twin_${index}`, text));

serveRequests(
  {
    async facts(): Promise<IngestFacts> {
      const facts = await readDatabaseFacts(store.owner, store.address, settings.dataDir);
      const ca = readFileSync(caPath!, "utf8");
      return { ...facts, port: settings.port, barePort: bare.port, ca, apiKey: await createIngestKey(store) };
    },
    counts: async () => (await store.owner.run(COUNT)).rows[0],
  },
  async () => {
    bare.close();
    await running.stop();
    await remove();
  },
);
