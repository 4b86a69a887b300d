import { randomBytes } from "node:crypto";
import pino from "pino";
import { readPretrainedModel } from "../../lab/trial/open-world.ts";
import { createApi, type RunningApi } from "../../src/api/server.ts";
import { createApiKey } from "../../src/auth/api-keys.ts";
import { PERMISSIONS } from "../../src/domain/permission.ts";
import { parseTrustedProxies } from "../../src/http/client-address.ts";
import { createGroupCommit } from "../../src/ingest/group-commit.ts";
import { ingestSubscriptions, ingestTransactions } from "../../src/ingest/ingest.ts";
import { ingestInvoices } from "../../src/ingest/ingest-invoices.ts";
import { createModelCache } from "../../src/learning/model-cache.ts";
import { type Database, openDatabase, prepared } from "../../src/postgres/database.ts";
import { roleAddresses } from "../../src/postgres/roles.ts";
import { openTenantDatabase } from "../../src/postgres/tenant-database.ts";
import { processDueCases } from "../../src/recovery/process-due-cases.ts";
import { createTestDatabase } from "../database.ts";
import { generateSchemaBodies } from "../fuzz/naughty-texts.ts";
import { createSeededRandom } from "../fuzz/seeded-random.ts";
import { createPorts, createShop, readMerchantRows } from "../wall/merchant-life.ts";
import { hostileOperation, type MerchantOperation, ordinaryOperation } from "./merchant-operations.ts";

export interface IsolationOptions {
  seed: number;
  /** Operations of the observed merchant. */
  operations: number;
}

/** One merchant's view, line by line, alone and beside another merchant. */
export interface IsolationResult {
  alone: string[];
  beside: string[];
  /** The other merchant's operations, and how many were accepted. */
  stranger: { operations: number; taken: number };
}

/** Runs the same life of a merchant twice, each in its own database: once alone, once beside a hostile merchant. */
export async function compareLives({ seed, operations }: IsolationOptions): Promise<IsolationResult> {
  const stranger = { operations: 0, taken: 0 };
  const alone = await runLife(seed, operations, null);
  const beside = await runLife(seed, operations, stranger);
  return { alone, beside, stranger };
}

const HOUR = 3_600_000;
const DECIDE_EVERY_OPERATIONS = 5;
const log = pino({ level: "silent" });

const MARK_SENT = prepared(
  "isolation_events",
  `select e.id, e.type, e.body from events e where e.merchant_id = $1 order by e.created_at, e.id`,
);
const DELIVERED = prepared(
  "isolation_delivered",
  `with gone as (delete from deliveries where merchant_id = $1 returning event_id, round),
     logged as (insert into delivery_attempts (merchant_id, event_id, round, number, started_at, ended_at, duration_ms, ends, status)
       select $1, event_id, round, 1, $2::timestamptz, $2::timestamptz, 5, 'delivered', 200 from gone)
   insert into case_pokes (merchant_id, id, part, case_ids)
   select $1, $3, 0, array_agg(distinct e.case_id) from gone join events e on e.merchant_id = $1 and e.id = gone.event_id
   having count(*) > 0`,
);

async function runLife(
  seed: number,
  operations: number,
  stranger: IsolationResult["stranger"] | null,
): Promise<string[]> {
  const database = await createTestDatabase();
  const [ofA, ofB] = [createPorts("aa"), createPorts("bb")];
  let acting = ofA;
  // Each merchant has its own ids, so those of the observed one are the same in both lives.
  const ports = { ...ofA, newId: () => acting.newId() };
  const { api: asApi, worker } = roleAddresses(database.address, true);
  const everyone = openDatabase(worker, 3, () => {});
  const walled = openTenantDatabase(asApi, 3, () => {});
  const limits = { ratePerSecond: 1_000_000, rateBurst: 1_000_000, sharesLearning: false };
  const a = await createShop(database.db, ports, limits);
  const b = await createShop(database.db, ofB, limits);
  const keys = { ...ports, randomBytes };
  const keyOf = async (merchantId: string) =>
    (await createApiKey(everyone, { merchantId, permissions: PERMISSIONS }, keys)).apiKey;
  const [keyA, keyB] = [await keyOf(a.id), await keyOf(b.id)];
  const known = createModelCache({ db: everyone, ports, log, prior: readPretrainedModel() });
  const models: typeof known = {
    ...known,
    of(merchantId) {
      acting = merchantId === a.id ? ofA : ofB; // a step begins with this
      return known.of(merchantId);
    },
  };
  const api = await createApi({
    allTenantsDb: everyone,
    tenantDb: walled,
    owner: database.db,
    ports,
    log,
    ingest: {
      subscriptions: createGroupCommit((merchant, batch) =>
        ingestSubscriptions(walled.of(merchant.id), merchant, batch, ports, () => {}),
      ),
      invoices: createGroupCommit((merchant, batch) =>
        ingestInvoices(walled.of(merchant.id), merchant, batch, ports, () => {}),
      ),
      transactions: createGroupCommit((merchant, batch) =>
        ingestTransactions(walled.of(merchant.id), merchant, batch, ports, () => {}),
      ),
    },
    recovery: { onEvents() {}, onWithdrawn() {} },
    onIngested() {},
    clockSkewMs: 5 * 60_000,
    tls: "proxy",
    connectionsPerAddress: 500,
    trustedProxies: parseTrustedProxies(""),
    baseUrl: "https://dunlin.example.com",
    tokenKeys: [Buffer.alloc(32, 7)],
    egressRanges: [],
    ready: async () => ({ ok: true, problems: [] }),
    metrics: {
      requestFinished() {},
      recordsIngested() {},
      requestsUnlogged() {},
      unauthenticatedRequest() {},
      connectionRefused() {},
    },
  });
  const lines: string[] = [];
  const tokens: string[] = [];
  const [diceA, diceB] = [createSeededRandom(seed, "a"), createSeededRandom(seed, "b")];
  const bodies = stranger ? generateSchemaBodies(60, seed) : [];
  try {
    for (let number = 1; number <= operations; number++) {
      acting = ofA;
      lines.push(
        ...(await runOperation(api, keyA, ordinaryOperation(diceA, ports.now().getTime()), "10.0.0.1", tokens)),
      );
      for (let count = stranger ? diceB.upTo(3) : 0; stranger && count > 0; count--) {
        acting = ofB;
        const operation = hostileOperation(diceB, ports.now().getTime(), bodies, tokens);
        const answers = await runOperation(api, keyB, operation, "10.0.0.2");
        stranger.operations++;
        if (answers.every((answer) => answer.startsWith("200"))) stranger.taken++;
      }
      if (number % DECIDE_EVERY_OPERATIONS > 0) continue;
      ports.wait(diceA.upTo(12 * HOUR));
      const deciding = { db: everyone, ports, log, models, onEvents() {}, onWithdrawn() {} };
      for (let turns = 0; turns < 100 && (await processDueCases(deciding)).processedCount > 0; turns++);
      await database.db.run(DELIVERED, [a.id, ports.now(), ofA.newId()]);
      await database.db.run(DELIVERED, [b.id, ports.now(), ofB.newId()]);
    }
    for (const { id, type, body } of (await database.db.run<Record<string, string>>(MARK_SENT, [a.id])).rows)
      lines.push(`${id} ${type} ${body}`);
    lines.push(...(await readStoredRows(database.db, a.id)));
  } finally {
    await api.close();
    await walled.close();
    await everyone.close();
    await database.drop();
  }
  return lines.map((line) => line.replaceAll(/req_[0-9a-f-]{36}/g, "request"));
}

/**
 * Returns a merchant's stored rows, without the hash of its key and the request log, which depend on randomness and real time.
 */
async function readStoredRows(db: Database, merchantId: string): Promise<string[]> {
  const {
    api_keys: _keys,
    request_log: _log,
    rate_buckets: _buckets,
    ...tables
  } = await readMerchantRows(db, merchantId);
  return Object.entries(tables).flatMap(([name, rows]) => rows.map((row) => `${name} ${JSON.stringify(row)}`));
}

/** Returns status and body of every answer. Keeps tokens for the hostile merchant to try. */
async function runOperation(
  { http }: RunningApi,
  apiKey: string,
  operation: MerchantOperation,
  remoteAddress: string,
  tokens: string[] = [],
): Promise<string[]> {
  const headers = { authorization: `Bearer ${apiKey}` };
  if ("push" in operation) {
    const { push, body, headers: own } = operation;
    const type = { "content-type": "application/json" };
    const url = `/ingest/v1/${push}`;
    const reply = await http.inject({
      method: "POST",
      url,
      headers: { ...headers, ...type, ...own },
      payload: body,
      remoteAddress,
    });
    return [`${reply.statusCode} ${reply.body}`];
  }
  const answers: string[] = [];
  let query = new URLSearchParams("page" in operation ? { pageToken: operation.page } : operation.walk).toString();
  for (;;) {
    const reply = await http.inject({ url: `/v1/recovery_actions?${query}`, headers, remoteAddress });
    const { nextPageToken, ...page } = reply.json() as { nextPageToken?: string };
    // Tokens are sealed with randomness, so only their presence is compared.
    answers.push(`${reply.statusCode} ${JSON.stringify(page)} ${nextPageToken ? "and so on" : ""}`);
    if (!nextPageToken) return answers;
    tokens.push(nextPageToken);
    if (tokens.length > 50) tokens.shift();
    if (answers.length >= operation.pagesMax) return answers;
    query = new URLSearchParams({ pageToken: nextPageToken }).toString();
  }
}
