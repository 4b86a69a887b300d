import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import pino from "pino";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import { testApi, testClock, testMerchant, testPorts } from "../api/api.fixture.ts";
import { createPasswords } from "../auth/password.ts";
import { beginSession } from "../auth/sessions.ts";
import type { JobKind } from "../domain/job.ts";
import type { Merchant } from "../domain/merchant.ts";
import type { Person } from "../domain/person.ts";
import type { Role } from "../domain/role.ts";
import { parseTrustedProxies } from "../http/client-address.ts";
import { type BacktestRunner, createBacktestHandler } from "../jobs/backtest-job.ts";
import { createReplayHandler } from "../jobs/replay-job.ts";
import { runNextJob } from "../jobs/run-jobs.ts";
import { openDatabase } from "../postgres/database.ts";
import { roleAddresses } from "../postgres/roles.ts";
import { openTenantDatabase } from "../postgres/tenant-database.ts";
import { uuidV7 } from "../process/clock.ts";
import { createShadowHandler } from "../shadow/shadow-job.ts";
import { listAuditEntries } from "../tables/audit-log.ts";
import { addMember } from "../tables/members.ts";
import { insertPerson } from "../tables/people.ts";
import type { ConsoleOptions } from "./console.ts";
import { createConsolePages } from "./console-pages.ts";
import { SESSION_COOKIE } from "./visit.ts";

export const ORIGIN = "https://dunlin.example.com";
export const SECRET_KEYS = [Buffer.alloc(32, 7)];
export const PASSWORD = "correct horse battery";
/** As a browser sends it with the page's own form. */
export const SAME_ORIGIN = { "sec-fetch-site": "same-origin" };

type Fields = Record<string, string | readonly string[]>;

/** @param shared  a database that several consoles use, each with its own merchant; `close` leaves it */
export async function createTestConsole(over: Partial<ConsoleOptions> = {}, shared?: TestDatabase) {
  const database = shared ?? (await createTestDatabase());
  const clock = testClock();
  let ids = 0;
  const newId = () => uuidV7(new Date(clock.serviceMs), ids++ % 4096, randomBytes(8));
  const ports = { ...testPorts(clock), newId };
  const { db } = database;
  const { api: asApi, worker } = roleAddresses(database.address, true);
  const allTenantsDb = openDatabase(worker, 2, () => {});
  const tenantDb = openTenantDatabase(asApi, 2, () => {});
  const toSend: string[] = [];
  const withdrawn: string[][] = [];
  const passwords = createPasswords(randomBytes, 4);
  const options: ConsoleOptions = {
    allTenantsDb,
    tenantDb,
    ports,
    secretKeys: SECRET_KEYS,
    passwords,
    oidc: null,
    mailer: null,
    authUrl: ORIGIN,
    baseUrl: ORIGIN,
    clockSkewMs: 300_000,
    caPath: null,
    behindProxy: false,
    trustedProxies: parseTrustedProxies(""),
    egressRanges: ["203.0.113.0/24"],
    allow: [],
    sendTestEvent: async () => null,
    postChat: async () => ({ delivered: true, answer: "200" }),
    onEvents: (merchantId) => void toSend.push(merchantId),
    onWithdrawn: (merchantId, eventIds) => void withdrawn.push([merchantId, ...eventIds]),
    onCases() {},
    onJob() {},
    ...over,
  };
  const api = await testApi(db, clock, { pages: createConsolePages(options) });
  const merchant = await testMerchant(db, ports, { name: "Harbor Coffee Club" });

  /** The person becomes a member unless `role` is null. */
  async function person(role: Role | null, of: Merchant = merchant): Promise<Person> {
    const email = `${role ?? "nobody"}-${randomBytes(4).toString("hex")}@example.com`;
    const password = await passwords.hash(PASSWORD);
    const created: Person = {
      id: ports.newId(),
      email,
      name: `Ada ${role ?? "Nobody"}`,
      password,
      zone: "UTC",
      theme: "system",
      createdAt: ports.now(),
    };
    await insertPerson(db, created);
    if (role) await addMember(db, of.id, created.id, role, ports.now());
    return created;
  }

  async function browser(who: Person) {
    const cookie = `${SESSION_COOKIE}=${await beginSession(db, who, undefined, ports)}`;
    return {
      person: who,
      cookie,
      get: (url: string) => api.http.inject({ url, headers: { cookie } }),
      post: (url: string, fields: Fields = {}, headers: Record<string, string> = SAME_ORIGIN) =>
        post(url, fields, { cookie, ...headers }),
    };
  }

  const post = (url: string, fields: Fields, headers: Record<string, string> = SAME_ORIGIN) =>
    api.http.inject({
      method: "POST",
      url,
      headers: { "content-type": "application/x-www-form-urlencoded", ...headers },
      payload: new URLSearchParams(
        Object.entries(fields).flatMap(([name, value]) =>
          (typeof value === "string" ? [value] : value).map((each): [string, string] => [name, each]),
        ),
      ).toString(),
    });

  async function work(kind: JobKind, judge: () => BacktestRunner = () => assert.fail("no judge")) {
    const handlers = {
      replay: createReplayHandler(ports, options.onEvents),
      backtest: createBacktestHandler(judge),
      shadow: createShadowHandler(ports),
    };
    const handler = handlers[kind];
    const log = pino({ level: "silent" });
    const { signal } = new AbortController();
    return runNextJob({ everyone: allTenantsDb, walled: tenantDb, ports, log, kind, work: handler, signal });
  }

  return {
    ...database,
    clock,
    ports,
    api,
    http: api.http,
    options,
    merchant,
    toSend,
    withdrawn,
    work,
    person,
    browser,
    as: async (role: Role) => browser(await person(role)),
    post,
    audited: () => listAuditEntries(db, merchant.id, {}, 100),
    async close() {
      await api.close();
      await Promise.all([allTenantsDb.close(), tenantDb.close()]);
      if (!shared) await database.drop();
    },
  };
}
export type TestConsole = Awaited<ReturnType<typeof createTestConsole>>;

export const hiddenFieldValue = (page: string, name: string) =>
  new RegExp(`name="${name}" value="([^"]*)"`).exec(page)?.[1] ?? "";
