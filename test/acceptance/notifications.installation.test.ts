import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import pino from "pino";
import { testMerchant } from "../../src/api/api.fixture.ts";
import { createAttentionStore } from "../../src/attention/attention.fixture.ts";
import { readSettings } from "../../src/config/config.ts";
import { DAY_MS } from "../../src/domain/durations.ts";
import { ALERT_KINDS } from "../../src/domain/notice.ts";
import { COMMAND_LINE_ACTOR } from "../../src/domain/person.ts";
import { setChat, setMemberNotices } from "../../src/notices/notice-settings.ts";
import { prepared } from "../../src/postgres/database.ts";
import { type RunningService, start } from "../../src/start.ts";
import { addMember } from "../../src/tables/members.ts";
import { insertPerson } from "../../src/tables/people.ts";
import { eventually } from "../contract/running-service.ts";
import { startWebhookEndpoint } from "../contract/webhook-endpoint.ts";
import { createTestDatabase } from "../database.ts";
import { databaseUrlOf } from "../database-url.ts";
import { startMailServer } from "../mail-server.ts";
import { exitWhenInterrupted, removeAtExit } from "../test-server.ts";

/** Several runs of the loop. */
const RUNS_MS = 12_000;
const endpoint = await startWebhookEndpoint();
const mailServer = await startMailServer({});
const folder = await mkdtemp(join(tmpdir(), "dunlin-notify-"));
removeAtExit(folder);
exitWhenInterrupted();
const caFile = join(folder, "webhook-ca.pem");
writeFileSync(caFile, endpoint.ca);
const SECRET_KEY = randomBytes(32).toString("base64");
const database = await createTestDatabase();
const running: RunningService[] = [];
after(async () => {
  await Promise.all([endpoint.close(), mailServer.stop()]);
  await Promise.all(running.map((each) => each.stop()));
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

async function startDelivering() {
  const { settings, problems } = readSettings(
    {
      DATABASE_URL: databaseUrlOf(database.address),
      DUNLIN_DATA: folder,
      DUNLIN_SECRET_KEY: SECRET_KEY,
      DUNLIN_WEBHOOK_ALLOW: `127.0.0.1/32:${endpoint.port}`,
      DUNLIN_WEBHOOK_CA: caFile,
      DUNLIN_SMTP_URL: `smtp://localhost:${mailServer.port}`,
      DUNLIN_MAIL_FROM: "dunlin@example.com",
    },
    () => null,
    new Date(),
  );
  assert.deepEqual(problems, []);
  const log = pino({ level: "silent" });
  const onFatal = (error: Error) => assert.fail(error);
  running.push(await start({ settings, roles: new Set(["deliver"]), log, onFatal, allowDataLoss: true }));
}

test("two delivering processes send a digest, an alert by mail and one to the chat, each once", async () => {
  await startDelivering();
  await startDelivering();
  const { db, tenantDb, owner, ports, secretKeys } = running[0]!.store;
  const { id } = await testMerchant(owner, ports, { name: "Shop" });
  const own = tenantDb.of(id);
  const person = {
    ...{ id: ports.newId(), email: "ada@example.com", name: "Ada", password: null, zone: "UTC" },
    ...{ theme: "system" as const, createdAt: ports.now() },
  };
  await insertPerson(db, person);
  await addMember(owner, id, person.id, "viewer", ports.now());
  const store = createAttentionStore(owner, id, ports.now());
  await store.giveUpEvent(await store.openCase(), ports.now());
  const chat = endpoint.hook((_request, response) => void response.writeHead(200).end());
  const alerts = [...ALERT_KINDS];
  await setMemberNotices(own, id, person, { digest: "daily", digestWeekday: 1, digestHour: 8, alerts }, ports);
  await setChat(own, id, { url: chat.url, alerts }, { actor: COMMAND_LINE_ACTOR, secretKeys, ports });
  const makeDue = prepared("", "update member_notices set digest_due_at = $2 where merchant_id = $1");
  await owner.run(makeDue, [id, new Date(ports.now().getTime() - DAY_MS)]);
  await eventually(() => mailServer.mails.length >= 2 && chat.received.length >= 1, "the notices", 20_000);
  await sleep(RUNS_MS);
  const subjects = mailServer.mails.map(({ text }) => /^Subject: (.*)\r$/m.exec(text)![1]).sort();
  assert.deepEqual(subjects, ["Shop: Dunlin gave up 1 event", "Shop: daily digest"]);
  assert.equal(chat.received.length, 1);
  assert.match(String(chat.received[0]!.json.text), /^Shop: Dunlin gave up 1 event\n/);
});
