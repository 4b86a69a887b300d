import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import { makeMerchant, SECRET_KEYS } from "../delivery/deliverer.fixture.ts";
import { startReceiver } from "../delivery/https/receiver.fixture.ts";
import { findChatWebhook } from "../tables/chat-webhooks.ts";
import { unseal } from "../tables/secret-box.ts";
import type { Command, OptionValues } from "./command.ts";
import { createTestContext } from "./context.fixture.ts";
import {
  notificationsRemove,
  notificationsSet,
  notificationsShow,
  notificationsTest,
} from "./notification-commands.ts";

let database: TestDatabase;
let receiver: Awaited<ReturnType<typeof startReceiver>>;
const folder = mkdtempSync(join(tmpdir(), "dunlin-chat-"));
const texts: string[] = [];
before(async () => {
  database = await createTestDatabase();
  receiver = await startReceiver((request, reply) => {
    texts.push(JSON.parse(request.body).text);
    reply.writeHead(204).end();
  });
});
after(async () => {
  await receiver.close();
  await database.drop();
  rmSync(folder, { recursive: true, force: true });
});

async function run(command: Command, values: OptionValues = {}) {
  const webhookAllow = `127.0.0.1/32:${receiver.port}`;
  const settings = { webhookAllow, webhookCa: receiver.ca, dataDir: folder, authUrl: "https://dunlin.example.com" };
  const { context, lines } = createTestContext(database.db, settings);
  const code = await command.run(context, values, []);
  return { code, text: lines.join("\n") };
}

test("a chat is set from a file, shown without its secret, tested and removed", async () => {
  const { id } = await makeMerchant(database.db, { name: "Shop" });
  const url = `${receiver.origin}/hooks/T0123/secret-part`;
  const file = join(folder, "chat-url");
  writeFileSync(file, `${url}\n`);
  await assert.rejects(run(notificationsTest), /This merchant has no chat/);
  await assert.rejects(run(notificationsSet, { alerts: "endpoint" }), /This merchant has no chat yet/);
  assert.equal((await run(notificationsSet, { "chat-url-file": file, alerts: "endpoint,ingest" })).code, 0);
  const stored = (await findChatWebhook(database.db, id))!;
  assert.equal(unseal(SECRET_KEYS, stored.url), url);
  await run(notificationsSet, { alerts: "none", large: "EUR 500" });
  assert.equal(
    (await run(notificationsShow)).text,
    `chat           ${receiver.origin}/…part\nalerts         none\nlarge amounts  EUR 500.00`,
  );
  assert.deepEqual(await run(notificationsTest), { code: 0, text: "Accepted: 204" });
  assert.match(texts[0]!, /^This is a test from Dunlin for Shop/);
  const shown = JSON.parse((await run(notificationsShow, { json: true })).text);
  assert.deepEqual([shown.chat.answer, shown.chat.delivered], ["204", true]);
  assert.deepEqual(shown.large, [{ currency: "EUR", amount: 50_000 }]);
  assert.equal((await run(notificationsRemove)).text, "The chat was removed.");
  assert.equal((await run(notificationsRemove)).text, "This merchant has no chat.");
});

test("wrong values of `notifications set` are refused", async () => {
  for (const [values, problem] of [
    [{}, /Nothing to change/],
    [{ alerts: "endpoints" }, /--alerts takes endpoint, .* or none, not "endpoints"/],
    [{ large: "500" }, /--large: "500" is not an amount/],
    [{ "chat-url": "https://10.0.0.1/" }, /--chat-url: 10\.0\.0\.1 port 443 is not a public address/],
  ] as const)
    await assert.rejects(run(notificationsSet, values), problem);
});
