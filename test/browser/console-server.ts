import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pino from "pino";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { testApi, testClock } from "../../src/api/api.fixture.ts";
import { createOidc } from "../../src/auth/oidc.ts";
import { createPasswords } from "../../src/auth/password.ts";
import { beginSession } from "../../src/auth/sessions.ts";
import type { ConsoleOptions } from "../../src/console/console.ts";
import { createConsolePages } from "../../src/console/console-pages.ts";
import { SESSION_COOKIE } from "../../src/console/visit.ts";
import type { Merchant } from "../../src/domain/merchant.ts";
import type { Ports } from "../../src/domain/ports.ts";
import type { Role } from "../../src/domain/role.ts";
import { ensureLocalCertificate } from "../../src/http/local-certificate.ts";
import { createMerchant } from "../../src/merchants/merchant-settings.ts";
import type { Database } from "../../src/postgres/database.ts";
import { roleAddresses } from "../../src/postgres/roles.ts";
import { openTenantDatabase } from "../../src/postgres/tenant-database.ts";
import { startJobLoops } from "../../src/process/job-loops.ts";
import { readPretrainedModel } from "../../src/process/pretrained-model-file.ts";
import { findPersonByEmail } from "../../src/tables/people.ts";
import { createTestDatabase, type TestDatabase } from "../database.ts";
import { findFreePort } from "../free-port.ts";
import { launchChromium } from "./chromium.ts";
import { createPeople, createStoryClock, fillConsole, SECRET_KEYS } from "./fill-console.ts";

export interface ConsoleStage {
  database: TestDatabase;
  merchant: Merchant;
  /** The clock of the data, which stands still. The API has it too. */
  ports: Ports;
  origin: string;
  browser: Browser;
  /** Opens a separate browser context in which a person with this role is signed in. */
  as(role: Role, options?: Parameters<Browser["newContext"]>[0]): Promise<BrowserContext>;
  /** Makes the database unreachable, or reachable again. */
  loseDatabase(isLost: boolean): void;
  /** Restarts the server on the same port. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

/** Opens the console over HTTPS on a database with five weeks of data, and a browser. */
export async function openConsoleStage({ isEmpty = false } = {}): Promise<ConsoleStage> {
  const database = await createTestDatabase();
  const folder = await mkdtemp(join(tmpdir(), "dunlin-browser-"));
  const clock = createStoryClock();
  const { db } = database;
  const merchant = isEmpty
    ? await createMerchant(db, "Empty Shop", {}, SECRET_KEYS, clock.ports)
    : await fillConsole(db, clock);
  if (isEmpty) await createPeople(db, merchant, clock.ports);
  const port = await findFreePort();
  const origin = `https://localhost:${port}`;
  const { cert, key } = await ensureLocalCertificate(folder, "localhost", new Date());
  const walled = openTenantDatabase(roleAddresses(database.address, true).api, 4, () => {});
  let isLost = false;
  const gone = () =>
    Promise.reject(Object.assign(new Error("connect ECONNREFUSED 10.0.0.5:5432"), { code: "ECONNREFUSED" }));
  const losable = (database: Database): Database => ({
    ...database,
    run: (statement, values) => (isLost ? gone() : database.run(statement, values)),
    transaction: (work) => (isLost ? gone() : database.transaction(work)),
  });
  const log = pino({ level: "silent" });
  const jobs = startJobLoops({
    everyone: db,
    walled,
    ports: clock.ports,
    log,
    prior: readPretrainedModel(log),
    onReplayed() {},
  });
  const options: ConsoleOptions = {
    allTenantsDb: losable(db),
    tenantDb: { ...walled, of: (merchantId) => losable(walled.of(merchantId)) },
    ports: clock.ports,
    secretKeys: SECRET_KEYS,
    passwords: createPasswords(clock.ports.randomBytes, 4),
    // Only its button is on the pages; no test follows it.
    oidc: createOidc(
      { issuer: "https://id.harbor.example", clientId: "dunlin", clientSecret: "-", name: "Harbor ID" },
      origin,
      () => performance.now(),
    ),
    mailer: null,
    authUrl: origin,
    baseUrl: origin,
    clockSkewMs: 300_000,
    caPath: "/var/lib/dunlin/tls/ca.pem",
    behindProxy: false,
    trustedProxies: { ranges: [] },
    egressRanges: ["203.0.113.0/24", "198.51.100.16/28"],
    allow: [],
    postChat: async () => ({ delivered: true, answer: "200" }),
    sendTestEvent: async () => null,
    onEvents() {},
    onWithdrawn() {},
    onCases() {},
    onJob: (kind) => jobs.wake(kind),
  };
  const serve = async () => {
    const api = await testApi(db, testClock(), {
      tls: { cert, key },
      baseUrl: origin,
      ports: clock.ports,
      pages: createConsolePages(options),
    });
    await api.listen({ host: "127.0.0.1", port });
    return api;
  };
  let api = await serve();
  const browser = await launchChromium();
  return {
    database,
    merchant,
    ports: clock.ports,
    origin,
    browser,
    async as(role, contextOptions = {}) {
      const context = await browser.newContext({ ignoreHTTPSErrors: true, baseURL: origin, ...contextOptions });
      const person = await findPersonByEmail(db, `${role}@harbor.example`);
      const token = await beginSession(db, person!, undefined, clock.ports);
      await context.addCookies([
        { name: SESSION_COOKIE, value: token, url: origin, httpOnly: true, secure: true, sameSite: "Lax" },
      ]);
      return context;
    },
    loseDatabase(lost) {
      isLost = lost;
    },
    async restart() {
      await api.close();
      api = await serve();
    },
    async close() {
      await browser.close();
      await api.close();
      await jobs.stop();
      await walled.close();
      await database.drop();
      await rm(folder, { recursive: true });
    },
  };
}

const BACKTEST_TIMEOUT_MS = 120_000;

/** Lists every page of the console, with an example for pages that show one record. */
export async function listConsolePages(page: Page): Promise<[name: string, path: string][]> {
  const first = async (path: string, selector: string) => {
    await page.goto(path);
    return (await page.locator(selector).first().getAttribute("href"))!;
  };
  const invoice = await first("/invoices?outcome=recovered", "tbody a.id[href^='/invoices/in_']");
  const open = await first("/invoices?outcome=open", "tbody a.id[href^='/invoices/in_']");
  const exhausted = await first("/deliveries?state=exhausted", "tbody th a");
  const waiting = await first("/deliveries?state=waiting", "tbody th a");
  const key = await first("/org/api_keys", "tbody td a");
  const running = await first("/experiments", "tbody tr:nth-child(1) a");
  const off = await first("/experiments", "tbody tr:nth-child(2) a");
  const backtest = await first("/backtest", "tbody td a");
  // It has been running since the start. Its page shows the report as soon as it exists.
  await page.goto(backtest);
  await page.locator(".answers").first().waitFor({ timeout: BACKTEST_TIMEOUT_MS });
  return [
    ["overview", "/overview?period=12w"],
    ["analytics", "/analytics"],
    ["decline-codes", "/decline_codes"],
    ["requests", "/requests"],
    ["connection", "/connection"],
    ["actions", "/actions"],
    ["actions-found", "/actions?q=in_10&cardCountry=DE&orderBy=updated_at"],
    ["invoices", "/invoices"],
    ["search", "/search?q=cus_1"],
    ["search-more", "/search?q=in_1&in=invoices"],
    ["search-empty", "/search"],
    ["invoice", invoice],
    ["invoice-open", open],
    ["experiments", "/experiments"],
    ["experiment", running],
    ["experiment-off", off],
    ["new-experiment", "/experiments/new"],
    ["deliveries", "/deliveries"],
    ["delivery", exhausted],
    ["delivery-waiting", waiting],
    ["replay", "/deliveries/replay"],
    ["import", "/import"],
    ["backtests", "/backtest"],
    ["backtest", backtest],
    ["shadow", "/shadow"],
    ["recovery-settings", "/settings/recovery"],
    ["recovery-rules", "/settings/rules"],
    ["new-recovery-rule", "/settings/rules?edit=new"],
    ["notifications", "/settings/notifications"],
    ["webhook", "/settings/webhook"],
    ["keys", "/org/api_keys"],
    ["key", key],
    ["new-key", "/org/api_keys/new"],
    ["members", "/org/members"],
    ["audit", "/org/audit"],
    ["account", "/account"],
    ["refused", "/actions?currency=euro"],
    ["nothing", "/invoices/none"],
  ];
}
