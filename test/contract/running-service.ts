// The interface with merchants (docs/reference/api.md), tested from outside on the whole service. The numbered files follow its
// parts, and each begins with the title of its part.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pino from "pino";
import { readSettings, type Settings } from "../../src/config/config.ts";
import type { Store } from "../../src/process/open-store.ts";
import { ROLES, start } from "../../src/start.ts";
import { createTestDatabase } from "../database.ts";
import { databaseUrlOf } from "../database-url.ts";
import { findFreePort } from "../free-port.ts";
import { exitWhenInterrupted, removeAtExit } from "../test-server.ts";
import { createCaller } from "./api-caller.ts";
import { openShop, type Shop, type ShopOptions } from "./contract-shop.ts";
import { startWebhookEndpoint } from "./webhook-endpoint.ts";

/** The running service with all its roles, seen from outside. */
export interface Service {
  settings: Settings;
  baseUrl: string;
  /** PEM of the authority that signed the service's certificate. */
  ca: string;
  /** A free port of this machine to which webhooks may also be sent. */
  sparePort: number;
  call: ReturnType<typeof createCaller>["call"];
  /** Its database, for changes that bypass the service. */
  store: Store;
  /** Service time. */
  now(): Date;
  /** Creates a separate merchant with an endpoint and a key. */
  shop(options?: ShopOptions): Promise<Shop>;
  stop(): Promise<void>;
}

/**
 * Starts the service as `dunlin serve` does, over HTTPS on a free port. Its database is one of the tests' server, because a
 * server of its own takes 2 s of CPU to set up.
 */
export async function runService({ clockRate = 1 } = {}): Promise<Service> {
  const dataDir = await mkdtemp(join(tmpdir(), "dunlin-contract-"));
  removeAtExit(dataDir);
  exitWhenInterrupted();
  const endpoint = await startWebhookEndpoint();
  const webhookCa = join(dataDir, "webhook-ca.pem");
  writeFileSync(webhookCa, endpoint.ca);
  const sparePort = await findFreePort();
  const database = await createTestDatabase();
  const { settings, problems } = readSettings(
    {
      DUNLIN_DATA: dataDir,
      DATABASE_URL: databaseUrlOf(database.address),
      DUNLIN_PORT: String(await findFreePort()),
      DUNLIN_CLOCK_RATE: String(clockRate),
      DUNLIN_CLOCK_RATE_CONFIRM: "yes",
      DUNLIN_WEBHOOK_ALLOW: `127.0.0.1/32:${endpoint.port},127.0.0.1/32:${sparePort}`,
      DUNLIN_WEBHOOK_CA: webhookCa,
    },
    () => null,
    new Date(),
  );
  assert.deepEqual(problems, []);
  const onFatal = (error: Error) => assert.fail(error);
  const log = pino({ level: "silent" });
  const roles = new Set(ROLES);
  const running = await start({ settings, roles, log, onFatal, allowDataLoss: true }).catch(async (error) => {
    await endpoint.close();
    await database.drop();
    throw error;
  });
  const ca = readFileSync(running.caPath!, "utf8");
  const { call, close } = createCaller(settings.baseUrl, ca);
  return {
    settings,
    baseUrl: settings.baseUrl,
    ca,
    sparePort,
    call,
    store: running.store,
    now: running.store.ports.now,
    shop: (options) => openShop(running.store, endpoint, call, options),
    async stop() {
      close();
      // Closed first, so that no attempt delays the stop.
      await endpoint.close();
      await running.stop();
      await database.drop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** A use of the service that the test files of a process share, because starting it takes longer than most of them. */
export interface ServiceUse {
  start(): Promise<Service>;
  /** Stops the service after its last use. */
  end(): Promise<void>;
}

let useCount = 0;
let sharedService: Promise<Service> | undefined;

/** Call it while a file is loaded, so that the service stays up until the next file. */
export function useService(): ServiceUse {
  useCount++;
  return {
    start() {
      sharedService ??= runService();
      return sharedService;
    },
    async end() {
      useCount--;
      if (useCount > 0) return;
      const last = sharedService;
      sharedService = undefined;
      await (await last)?.stop();
    },
  };
}

/** Waits until `look` finds something; fails after `limitMs` of real time. */
export async function eventually<T>(
  look: () => T | Promise<T>,
  what = "it",
  limitMs = 10_000,
): Promise<NonNullable<T>> {
  for (const endMs = performance.now() + limitMs; ; ) {
    const found = await look();
    if (found !== undefined && found !== null && found !== false) return found as NonNullable<T>;
    assert.ok(performance.now() < endMs, `${what} did not happen within ${limitMs} ms`);
    await sleep(20);
  }
}
