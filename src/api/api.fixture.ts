// Setup for API tests, with clocks that the test controls.
import { randomBytes } from "node:crypto";
import { Writable } from "node:stream";
import { pino } from "pino";
import { createApiKey } from "../auth/api-keys.ts";
import { MERCHANT_DEFAULTS, type Merchant } from "../domain/merchant.ts";
import { PERMISSIONS, type Permission } from "../domain/permission.ts";
import type { Ports } from "../domain/ports.ts";
import type { ApiOptions } from "../http/api.ts";
import { parseTrustedProxies } from "../http/client-address.ts";
import type { Database } from "../postgres/database.ts";
import { insertMerchant } from "../tables/merchants.ts";
import { createApi } from "./server.ts";

export const INVOICE = {
  id: "in_1",
  state: "INVOICE_STATE_PAID",
  customerId: "c",
  amount: 1,
  currency: "EUR",
  createdAt: "2026-01-01T00:00:00Z",
};

export interface TestClock {
  serviceMs: number;
  realMs: number;
  monotonicMs: number;
}

export const testClock = (): TestClock => ({
  serviceMs: Date.UTC(2026, 0, 15),
  realMs: Date.UTC(2026, 0, 15),
  monotonicMs: 0,
});

export function uuidv7(timeMs: number): string {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(timeMs, 0, 6);
  bytes[6] = (bytes[6]! & 0x0f) | 0x70;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = bytes.toString("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

export const testPorts = (clock: TestClock): Ports => ({
  now: () => new Date(clock.serviceMs),
  realNow: () => new Date(clock.realMs),
  monotonicMs: () => clock.monotonicMs,
  clockRate: 1,
  randomBytes,
  newId: () => uuidv7(clock.serviceMs),
});

export async function testMerchant(db: Database, ports: Ports, settings: Partial<Merchant> = {}): Promise<Merchant> {
  const merchant: Merchant = {
    ...MERCHANT_DEFAULTS,
    id: ports.newId(),
    name: "Example GmbH",
    bucket: 7,
    ratePerSecond: 1000,
    rateBurst: 1000,
    createdAt: ports.now(),
    ...settings,
  };
  await insertMerchant(db, merchant);
  return merchant;
}

export const testKey = (
  db: Database,
  ports: Ports,
  merchant: Merchant,
  permissions: readonly Permission[] = PERMISSIONS,
) => createApiKey(db, { merchantId: merchant.id, permissions }, ports);

export interface IngestedBatch {
  kind: string;
  merchantId: string;
  records: unknown[];
}

/** The ingest of this API only records its batches. `lines` collects the log. */
export async function testApi(db: Database, clock: TestClock, options: Partial<ApiOptions> = {}) {
  const ports = testPorts(clock);
  const ingested: IngestedBatch[] = [];
  const lines: string[] = [];
  const ingest =
    (kind: string) =>
    async <Row>(merchant: Merchant, records: readonly Row[]) => {
      ingested.push({ kind, merchantId: merchant.id, records: [...records] });
      return { stored: records.length, older: 0 };
    };
  const destination = new Writable({
    write(line, _encoding, done) {
      lines.push(String(line));
      done();
    },
  });
  const api = await createApi({
    allTenantsDb: db,
    tenantDb: { of: () => db, close: async () => {} },
    owner: db,
    ports,
    log: pino({ level: "debug" }, destination),
    ingest: {
      subscriptions: ingest("subscriptions"),
      invoices: ingest("invoices"),
      transactions: ingest("transactions"),
    },
    recovery: { onEvents() {}, onWithdrawn() {} },
    onIngested() {},
    clockSkewMs: 5 * 60_000,
    tls: "proxy",
    connectionsPerAddress: 500,
    trustedProxies: parseTrustedProxies("127.0.0.1"),
    baseUrl: "https://dunlin.example.com",
    tokenKeys: [Buffer.alloc(32, 7)],
    egressRanges: ["203.0.113.0/24"],
    ready: async () => ({ ok: true, problems: [] }),
    metrics: {
      requestFinished() {},
      recordsIngested() {},
      requestsUnlogged() {},
      unauthenticatedRequest() {},
      connectionRefused() {},
    },
    ...options,
  });
  return { ...api, ports, ingested, lines };
}
