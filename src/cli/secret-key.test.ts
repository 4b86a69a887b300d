import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { createTestDatabase } from "../../test/database.ts";
import { makeMerchant, realPorts, SECRET_KEYS } from "../delivery/deliverer.fixture.ts";
import { resealAll } from "../merchants/reseal.ts";
import { countOtherSessions } from "../postgres/database-dump.ts";
import { findChatWebhook, saveChatWebhook } from "../tables/chat-webhooks.ts";
import { claimInstallation, keyCheck } from "../tables/installation.ts";
import { listMerchants, updateEncryptedFields } from "../tables/merchants.ts";
import { seal, unseal } from "../tables/secret-box.ts";
import type { OptionValues } from "./command.ts";
import { createTestContext, runAndCapture } from "./context.fixture.ts";
import { secretKeyReset, secretKeyRotate } from "./secret-key.ts";

test("a rotation names merchants whose credential no key decrypts, and keeps every key until it is set again", async (t) => {
  const { db, drop } = await createTestDatabase();
  t.after(drop);
  const former = keyCheck(randomBytes(32));
  await claimInstallation(db, former);
  await makeMerchant(db);
  const webhookCredential = seal([randomBytes(32)], randomBytes(12), "t");
  const lost = await makeMerchant(db, { name: "Lost Shop", webhookCredential });
  const words = `No key can decrypt the credential or signing secret of Lost Shop \\(${lost.id}\\)\\. Set it again`;
  await assert.rejects(runAndCapture(db, secretKeyRotate, {}, []), new RegExp(words));
  assert.deepEqual(await claimInstallation(db, former), [former, keyCheck(SECRET_KEYS[0]!)]);
});

test("a reset replaces a lost key, lists what to set again, and is refused while the service runs", async (t) => {
  const { db, address, drop } = await createTestDatabase();
  t.after(drop);
  const [lost, next] = [keyCheck(randomBytes(32)), keyCheck(randomBytes(32))];
  await claimInstallation(db, lost);
  const { id } = await makeMerchant(db, { name: "Lost Shop" });
  const reset = async (sessions: number, values: OptionValues) => {
    const { context, lines } = createTestContext(db);
    const server = async () => ({ address, sessions, async close() {} });
    await secretKeyReset.run({ ...context, server }, values, []);
    return lines.join("\n");
  };
  const sessions = await countOtherSessions(address);
  await assert.rejects(reset(sessions - 1, { yes: true }), /The service is running/);
  await assert.rejects(reset(sessions, {}), /Nothing was changed/);
  assert.deepEqual(await claimInstallation(db, next), [lost]);
  assert.match(
    await reset(sessions, { yes: true }),
    new RegExp(`merchant set ${id} --bearer-file FILE {3}\\(Lost Shop\\)`),
  );
  assert.deepEqual(await claimInstallation(db, next), [next]);
});

test("a credential set with the old key during a rotation is re-encrypted before the rotation ends", async (t) => {
  const { db, drop } = await createTestDatabase();
  t.after(drop);
  const [former] = SECRET_KEYS;
  const next = randomBytes(32);
  await claimInstallation(db, keyCheck(former!));
  const merchant = await makeMerchant(db);
  const boxed = seal([former!], randomBytes(12), "set meanwhile");
  let isPassed = false;
  const racing: typeof db = {
    ...db,
    async transaction(work) {
      if (isPassed) await updateEncryptedFields(db, { ...merchant, webhookCredential: boxed });
      return await db.transaction(work);
    },
  };
  const done = await resealAll(racing, [next, former!], realPorts, () => {
    isPassed = true;
  });
  assert.deepEqual(done, { changed: 2, boxes: 1, unreadable: [], unreadableConnections: [], unreadableChats: [] });
  const [stored] = await listMerchants(db);
  assert.equal(unseal([next], stored!.webhookCredential!), "set meanwhile");
  assert.deepEqual(await claimInstallation(db, keyCheck(former!)), [keyCheck(next)]);
});

test("a rotation re-encrypts chat URLs, and names merchants whose URL no key decrypts", async (t) => {
  const { db, drop } = await createTestDatabase();
  t.after(drop);
  const [former] = SECRET_KEYS;
  const next = randomBytes(32);
  await claimInstallation(db, keyCheck(former!));
  const { id } = await makeMerchant(db);
  const chat = { shown: "https://chat.example.com/…", alerts: [], createdAt: realPorts.now() };
  const store = (key: Buffer) =>
    saveChatWebhook(db, id, { ...chat, url: seal([key], randomBytes(12), "https://chat.example.com/secret") });
  await store(randomBytes(32));
  await assert.rejects(runAndCapture(db, secretKeyRotate, {}, []), new RegExp(`chat URL of these merchants: ${id}`));
  await store(former!);
  const done = await resealAll(db, [next, former!], realPorts, () => {});
  assert.deepEqual(done.unreadableChats, []);
  assert.equal(unseal([next], (await findChatWebhook(db, id))!.url), "https://chat.example.com/secret");
});
