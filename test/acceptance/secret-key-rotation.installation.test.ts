import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import pino from "pino";
import { makeDeliverer, makeEvents, realPorts } from "../../src/delivery/deliverer.fixture.ts";
import { parseAllowList } from "../../src/delivery/https/address-guard.ts";
import { createSender } from "../../src/delivery/https/https-sender.ts";
import { createMerchant, rotateWebhookSecret } from "../../src/merchants/merchant-settings.ts";
import { SEALED_COLUMNS } from "../../src/merchants/reseal.ts";
import { type Database, openDatabase, prepared } from "../../src/postgres/database.ts";
import { type EmbeddedDatabase, startEmbedded } from "../../src/postgres/embedded/start.ts";
import { migrate } from "../../src/postgres/migrate.ts";
import { roleAddresses } from "../../src/postgres/roles.ts";
import { claimInstallation, keyCheck } from "../../src/tables/installation.ts";
import { listMerchants } from "../../src/tables/merchants.ts";
import { type SecretKeys, unseal } from "../../src/tables/secret-box.ts";
import { eventually } from "../contract/running-service.ts";
import { startWebhookEndpoint } from "../contract/webhook-endpoint.ts";
import { databaseUrlOf } from "../database-url.ts";
import { createProgram } from "../dunlin-program.ts";
import { exitWhenInterrupted, removeAtExit } from "../test-server.ts";

const MERCHANTS = 200;
const EVENTS = 100;
const [OLD, NEW, LATER] = [randomBytes(32), randomBytes(32), randomBytes(32)];
const folder = mkdtempSync(join(tmpdir(), "dunlin-keys-"));
removeAtExit(folder);
exitWhenInterrupted();
let server: EmbeddedDatabase;
let db: Database;
let endpoint: Awaited<ReturnType<typeof startWebhookEndpoint>>;
before(async () => {
  const log = pino({ level: "silent" });
  server = await startEmbedded({ dataDir: join(folder, "server"), log });
  await migrate(server.address, log);
  db = openDatabase(roleAddresses(server.address, false).owner, 5, () => {});
  endpoint = await startWebhookEndpoint();
});
after(async () => {
  await endpoint.close();
  await db.close();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

const { start, run } = createProgram(folder, () => ({
  DATABASE_URL: databaseUrlOf(server.address),
  DUNLIN_DATA: folder,
}));
const given = (keys: SecretKeys) => ({ DUNLIN_SECRET_KEY: keys.map((key) => key.toString("base64")).join(",") });
const rotate = (keys: SecretKeys) => run(["secret-key", "rotate"], given(keys));

/** Returns the texts that the keys open, by the merchant's name and the column. */
async function decryptSecrets(keys: SecretKeys): Promise<Map<string, string>> {
  const texts = new Map<string, string>();
  for (const merchant of await listMerchants(db))
    for (const name of SEALED_COLUMNS) {
      try {
        if (merchant[name]) texts.set(`${merchant.name} ${name}`, unseal(keys, merchant[name]));
      } catch {}
    }
  return texts;
}

test("every credential opens with only the new key when a rotation was killed and repeated while webhooks go out", async (t) => {
  const hook = endpoint.hook((_request, response) => void setTimeout(() => response.writeHead(200).end(), 10));
  await db.transaction(async (tx) => {
    for (let index = 0; index < MERCHANTS; index++) {
      const credential = { auth: "bearer" as const, secret: `token-${index}` };
      const webhookUrl = index === 0 ? hook.url : "https://shop.example/hooks";
      await createMerchant(tx, `Shop ${index}`, { webhookUrl, credential }, [OLD], realPorts);
    }
  });
  const merchants = await listMerchants(db);
  const sending = merchants.find(({ webhookUrl }) => webhookUrl === hook.url)!;
  for (const { id } of [sending, ...merchants.filter((each) => each !== sending).slice(1, 20)])
    for (const turn of ["first", "second"])
      await rotateWebhookSecret(db, id, `whsec_${btoa(`${turn} ${id}`)}`, 60_000, [OLD], realPorts);
  const before = await decryptSecrets([OLD]);
  assert.equal(before.size, MERCHANTS + 40);
  await claimInstallation(db, keyCheck(OLD));

  await makeEvents(db, sending, EVENTS, realPorts.now());
  const sender = createSender({
    allow: parseAllowList(`127.0.0.1/32:${endpoint.port}`),
    extraCa: endpoint.ca,
    clientCertificate: null,
    monotonicMs: realPorts.monotonicMs,
  });
  const options = { db, ports: realPorts, send: sender.send, secretKeys: [NEW, OLD], owner: randomUUID() };
  const deliverer = makeDeliverer(options);
  t.after(() => deliverer.stop(0).finally(sender.close));
  deliverer.start();

  const child = start(["secret-key", "rotate"], given([NEW, OLD]));
  const closed = once(child, "close");
  while ((await decryptSecrets([NEW])).size < 20) await sleep(2);
  child.kill("SIGKILL");
  await closed;
  const halfway = (await decryptSecrets([NEW])).size;
  assert.ok(halfway >= 20 && halfway < before.size, `${halfway} of ${before.size}`);
  assert.deepEqual(await decryptSecrets([NEW, OLD]), before);
  const alone = await rotate([OLD]);
  assert.equal(alone.code, 78, "credentials of the other key would be out of reach");
  assert.match(alone.err, /DUNLIN_SECRET_KEY .*lacks a key of this database, because its rotation is not complete/);

  const again = await rotate([NEW, OLD]);
  assert.equal(again.code, 0, again.err);
  const [, changed] =
    new RegExp(`^Re-encrypted (\\d+)\\. The first key alone decrypts all ${before.size}\\.`).exec(again.out) ?? [];
  // The last statement of the killed command may have run since.
  assert.ok(Number(changed) > 0 && Number(changed) <= before.size - halfway, again.out);
  assert.deepEqual(await decryptSecrets([NEW]), before);
  await eventually(() => hook.received.length >= EVENTS, "the rest of the webhooks", 30_000);
  assert.equal(hook.received.length, EVENTS);
  for (const { headers } of hook.received) {
    assert.equal(headers.authorization, "Bearer token-0");
    assert.equal(String(headers["webhook-signature"]).split(" ").length, 2, "both secrets sign");
  }
});

test("secret.key can hold several keys, one per line, and a guessable key is refused there as well", async () => {
  const lines = (...keys: Buffer[]) => `${keys.map((key) => key.toString("base64")).join("\n")}\n`;
  writeFileSync(join(folder, "secret.key"), lines(LATER, Buffer.alloc(32, 7)));
  const weak = await run(["secret-key", "rotate"]);
  assert.equal(weak.code, 78);
  assert.match(weak.err, /secret\.key repeats a few bytes, so it can be guessed/);
  writeFileSync(join(folder, "secret.key"), lines(LATER, NEW));
  const { code, err } = await run(["secret-key", "rotate"]);
  assert.equal(code, 0, err);
  assert.equal((await decryptSecrets([LATER])).size, MERCHANTS + 40);
});

test("every bytea column is listed as encrypted or as not encrypted", async () => {
  const { rows } = await db.run<{ name: string }>(
    prepared(
      "",
      `select c.relname || '.' || a.attname as name from pg_class c join pg_attribute a on a.attrelid = c.oid
       where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
         and a.atttypid = 'bytea'::regtype and not a.attisdropped and a.attnum > 0 order by 1`,
    ),
  );
  const hashesAndNumbers = [
    ...[
      "api_keys.hash",
      "installation.key_check",
      "invites.hash",
      "learned_merchants.numbers",
      "learned_parts.numbers",
    ],
    ...["provider_visits.hash", "sessions.hash"],
  ];
  const boxes = SEALED_COLUMNS.map(
    (name) => `merchants.${name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}`,
  );
  assert.deepEqual(
    rows.map(({ name }) => name),
    [...hashesAndNumbers, "connections.secrets", "chat_webhooks.url", ...boxes].sort(),
    "every column that the secret key encrypts belongs into BOXES of reseal.ts, else a rotation loses it",
  );
});
