// A process of `reading`: the API without storing, and an HTTPS server that only parses.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createApi } from "../src/api/server.ts";
import { parseTrustedProxies } from "../src/http/client-address.ts";
import { ensureLocalCertificate } from "../src/http/local-certificate.ts";
import { createMetrics } from "../src/metrics/metrics.ts";
import { openStore } from "../src/process/open-store.ts";
import { startBaselineServer } from "./baseline-https.ts";
import type { IngestFacts } from "./ingest-service.ts";
import { createIngestKey, createScratchSettings, readDatabaseFacts } from "./scratch-database.ts";
import { serveRequests } from "./worker-process.ts";

const { settings, log, remove } = await createScratchSettings();
const store = await openStore(settings, "own", 5, log, (error) => {
  throw error;
});
const { db, owner, ports, secretKeys, address } = store;
const { cert, key, caFile } = await ensureLocalCertificate(
  join(settings.dataDir, "tls"),
  settings.host,
  ports.realNow(),
);
let parsedCount = 0;
const countBatch = async (_merchant: unknown, batch: readonly unknown[]) => {
  parsedCount += batch.length;
  return { stored: batch.length, older: 0 };
};
const api = await createApi({
  allTenantsDb: db,
  tenantDb: store.tenantDb,
  owner,
  ports,
  log,
  ingest: { subscriptions: countBatch, invoices: countBatch, transactions: countBatch },
  recovery: { onEvents() {}, onWithdrawn() {} },
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

const bare = await startBaselineServer({ cert, key }, settings.host, (count) => {
  parsedCount += count;
});

serveRequests(
  {
    async facts(): Promise<IngestFacts> {
      const facts = await readDatabaseFacts(owner, address, settings.dataDir);
      return {
        ...facts,
        port: settings.port,
        barePort: bare.port,
        ca: readFileSync(caFile, "utf8"),
        apiKey: await createIngestKey(store),
      };
    },
    read: async () => parsedCount,
  },
  async () => {
    bare.close();
    await api.close();
    await store.close();
    await remove();
  },
);
