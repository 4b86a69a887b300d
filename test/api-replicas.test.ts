import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import pino from "pino";
import { Pool } from "undici";
import { createApiKey } from "../src/auth/api-keys.ts";
import { readSettings } from "../src/config.ts";
import { openStore } from "../src/open.ts";
import { createMerchant } from "../src/recovery/merchants.ts";
import { databaseUrl } from "./database-url.ts";
import { exitWhenInterrupted, removeAtExit } from "./server.ts";
import { createService, environmentOf, freePort } from "./torture/service.ts";

const folder = await mkdtemp(join(tmpdir(), "dunlin-replicas-"));
removeAtExit(folder);
exitWhenInterrupted();
const shared = { DUNLIN_SECRET_KEY: randomBytes(32).toString("base64") };
const { settings } = readSettings({ DUNLIN_DATA: folder, ...shared }, () => null, new Date());
const store = await openStore(settings, "own", 4, pino({ level: "silent" }), (error) => assert.fail(error));
const { db, ports, secretKey } = store;

async function replica(index: number) {
  const [dataDir, port] = [join(folder, `replica-${index}`), await freePort()];
  const env = environmentOf({
    DATABASE_URL: databaseUrl(store.address),
    DUNLIN_DATA: dataDir,
    DUNLIN_PORT: String(port),
    DUNLIN_HOST: "127.0.0.1",
    ...shared,
  });
  const service = createService(env, (how) => assert.fail(how), ["serve", "--roles", "api"]);
  await service.start();
  const connect = { ca: readFileSync(join(dataDir, "tls", "ca.pem"), "utf8"), servername: "localhost" };
  const pool = new Pool(`https://127.0.0.1:${port}`, { connect, connections: 8, allowH2: false });
  return {
    async list(apiKey: string) {
      const headers = { authorization: `Bearer ${apiKey}` };
      const {
        statusCode,
        headers: told,
        body,
      } = await pool.request({ method: "GET", path: "/v1/recovery_actions", headers });
      await body.dump();
      return { status: statusCode, retryAfter: told["retry-after"] };
    },
    async stop() {
      await pool.close();
      await service.terminate();
    },
  };
}

let replicas: Awaited<ReturnType<typeof replica>>[];
before(async () => {
  replicas = await Promise.all([replica(0), replica(1)]);
});
after(async () => {
  await Promise.all((replicas ?? []).map((each) => each.stop()));
  await store.close();
  await rm(folder, { recursive: true, force: true });
});

async function newKey(limits: { ratePerSecond: number; rateBurst: number }): Promise<string> {
  const merchant = await createMerchant(db, "Shop", limits, secretKey, ports);
  return (await createApiKey(db, { merchantId: merchant.id, permissions: ["read:recovery_actions"] }, ports)).apiKey;
}

const HAMMERED_MS = 3_000;

for (const shares of [
  [4, 4],
  [7, 1],
] as const)
  test(`two processes let in what the limit of a key says, to a tenth, when they get ${shares.join(" to ")} of its requests`, async (t) => {
    const apiKey = await newKey({ ratePerSecond: 50, rateBurst: 50 });
    const counts = { passed: 0, refused: 0 };
    const beganMs = performance.now();
    let tookMs = 0;
    await Promise.all(
      replicas.flatMap((each, index) =>
        Array.from({ length: shares[index]! }, async () => {
          while (performance.now() - beganMs < HAMMERED_MS) {
            const { status, retryAfter } = await each.list(apiKey);
            assert.ok(status === 200 || (status === 429 && Number(retryAfter) >= 1), String(status));
            counts[status === 200 ? "passed" : "refused"]++;
            tookMs = Math.max(tookMs, performance.now() - beganMs);
          }
        }),
      ),
    );
    const allowed = 50 + (50 * tookMs) / 1_000;
    t.diagnostic(`${counts.passed} of ${Math.round(allowed)} passed, ${counts.refused} were refused`);
    assert.ok(counts.refused > counts.passed / 10, "enough came to meet the limit");
    assert.ok(counts.passed <= allowed * 1.1, `${counts.passed} of ${allowed}`);
    assert.ok(counts.passed >= allowed * 0.9, `${counts.passed} of ${allowed}`);
  });

test("a key that rests in one process has its whole burst in the other", async () => {
  const apiKey = await newKey({ ratePerSecond: 1, rateBurst: 60 });
  const [one, two] = replicas as [(typeof replicas)[0], (typeof replicas)[0]];
  const passed = async (each: typeof one, count: number) => {
    const replies = await Promise.all(Array.from({ length: count }, () => each.list(apiKey)));
    return replies.filter(({ status }) => status === 200).length;
  };
  assert.equal(await passed(one, 20), 20);
  await sleep(2_500); // what it had taken ahead goes back
  const rest = await passed(two, 60);
  assert.ok(rest >= 40 && rest <= 60, `${rest} of 40 and some that flowed in`);
});
