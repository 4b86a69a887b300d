// A process of `reading`: the API with all that it does for a batch but storing it, and bare HTTPS beside it.
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { localCertificate } from "../src/api/certificate.ts";
import { parseTrustedProxies } from "../src/api/client-address.ts";
import { createApi } from "../src/api/server.ts";
import { createMetrics } from "../src/metrics.ts";
import { openStore } from "../src/open.ts";
import { type Packed, release } from "../src/store/packed.ts";
import type { IngestFacts } from "./ingest-service.ts";
import { answer } from "./part.ts";
import { databaseFacts, ingestKey, scratchSettings } from "./scratch.ts";

const { settings, log, remove } = await scratchSettings();
const store = await openStore(settings, "own", 5, log, (error) => {
  throw error;
});
const { db, owner, ports, secretKey, address } = store;
const { cert, key, caFile } = await localCertificate(join(settings.dataDir, "tls"), settings.host, ports.realNow());
let read = 0;
const take = async (_merchant: unknown, batch: Packed<unknown>) => {
  read += batch.count;
  release(batch);
  return batch.count;
};
const api = await createApi({
  everyone: db,
  walled: store.walled,
  owner,
  ports,
  log,
  ingest: { subscriptions: take, invoices: take, transactions: take },
  onIngested() {},
  tls: { cert, key },
  trustedProxies: parseTrustedProxies(""),
  baseUrl: settings.baseUrl,
  tokenKeys: [secretKey],
  egressRanges: [],
  ready: async () => ({ ok: true, problems: [] }),
  metrics: createMetrics(db, ports),
});
await api.listen({ host: settings.host, port: settings.port });

/** What nobody can do without: TLS, HTTP, and the body as values. */
const bare = createServer({ cert, key }, (request, response) => {
  const pieces: Buffer[] = [];
  request.on("data", (piece: Buffer) => pieces.push(piece));
  request.on("end", () => {
    const { invoices } = JSON.parse(Buffer.concat(pieces).toString()) as { invoices: unknown[] };
    read += invoices.length;
    response.setHeader("content-type", "application/json");
    response.end('{"requestId":"req_0"}');
  });
});
// Connections wait while the other contender has its round.
bare.keepAliveTimeout = 600_000;
bare.listen(0, settings.host);
await once(bare, "listening");

answer(
  {
    async facts(): Promise<IngestFacts> {
      const facts = await databaseFacts(owner, address, settings.dataDir);
      const barePort = (bare.address() as AddressInfo).port;
      return {
        ...facts,
        port: settings.port,
        barePort,
        ca: readFileSync(caFile, "utf8"),
        apiKey: await ingestKey(store),
      };
    },
    read: async () => read,
  },
  async () => {
    bare.closeAllConnections();
    bare.close();
    await api.close();
    await store.close();
    await remove();
  },
);
