// A process of `ingest`: the service itself with its API, as in production, over a new database, and beside it HTTPS that only parses.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { localCertificate } from "../src/api/certificate.ts";
import { start } from "../src/start.ts";
import { prepared } from "../src/store/database.ts";
import { listenBare } from "./bare-https.ts";
import { answer } from "./part.ts";
import { type DatabaseFacts, databaseFacts, ingestKey, scratchSettings } from "./scratch.ts";
import { CREATE_TWINS } from "./twins.ts";

export interface IngestFacts extends DatabaseFacts {
  port: number;
  /** Of HTTPS that only parses. */
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
const { cert, key } = await localCertificate(join(settings.dataDir, "tls"), settings.host, store.ports.realNow());
const bare = await listenBare({ cert, key }, settings.host);
for (const [index, text] of CREATE_TWINS.entries()) await store.owner.run(prepared(`bench_twin_${index}`, text));

answer(
  {
    async facts(): Promise<IngestFacts> {
      const facts = await databaseFacts(store.owner, store.address, settings.dataDir);
      const ca = readFileSync(caPath!, "utf8");
      return { ...facts, port: settings.port, barePort: bare.port, ca, apiKey: await ingestKey(store) };
    },
    counts: async () => (await store.owner.run(COUNT)).rows[0],
  },
  async () => {
    bare.close();
    await running.stop();
    await remove();
  },
);
