// A process of `reading`: the API with all that it does for a batch but storing it, and beside it HTTPS that only parses.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { localCertificate } from "../src/api/certificate.ts";
import { parseTrustedProxies } from "../src/api/client-address.ts";
import { createApi } from "../src/api/server.ts";
import { createMetrics } from "../src/metrics.ts";
import { openStore } from "../src/open.ts";
import { listenBare } from "./bare-https.ts";
import type { IngestFacts } from "./ingest-service.ts";
import { answer } from "./part.ts";
import { databaseFacts, ingestKey, scratchSettings } from "./scratch.ts";

const { settings, log, remove } = await scratchSettings();
const store = await openStore(settings, "own", 5, log, (error) => {
  throw error;
});
const { db, owner, ports, secretKeys, address } = store;
const { cert, key, caFile } = await localCertificate(join(settings.dataDir, "tls"), settings.host, ports.realNow());
let read = 0;
const take = async (_merchant: unknown, batch: readonly unknown[]) => {
  read += batch.length;
  return { stored: batch.length, older: 0 };
};
const api = await createApi({
  everyone: db,
  walled: store.walled,
  owner,
  ports,
  log,
  ingest: { subscriptions: take, invoices: take, transactions: take },
  onIngested() {},
  clockSkewMs: settings.clockSkewMs,
  tls: { cert, key },
  connectionsPerAddress: 500,
  trustedProxies: parseTrustedProxies(""),
  baseUrl: settings.baseUrl,
  tokenKeys: [...secretKeys],
  egressRanges: [],
  ready: async () => ({ ok: true, problems: [] }),
  metrics: createMetrics(db, ports),
});
await api.listen({ host: settings.host, port: settings.port });

const bare = await listenBare({ cert, key }, settings.host, (count) => {
  read += count;
});

answer(
  {
    async facts(): Promise<IngestFacts> {
      const facts = await databaseFacts(owner, address, settings.dataDir);
      return {
        ...facts,
        port: settings.port,
        barePort: bare.port,
        ca: readFileSync(caFile, "utf8"),
        apiKey: await ingestKey(store),
      };
    },
    read: async () => read,
  },
  async () => {
    bare.close();
    await api.close();
    await store.close();
    await remove();
  },
);
