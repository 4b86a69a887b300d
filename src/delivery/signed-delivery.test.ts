import assert from "node:assert/strict";
import { createHmac, randomBytes } from "node:crypto";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import { removeWebhookSecret, rotateWebhookSecret } from "../merchants/merchant-settings.ts";
import { listAttemptsOfEvent } from "../tables/delivery-attempts.ts";
import { findMerchant } from "../tables/merchants.ts";
import { createManualClock, makeDeliverer, makeEvents, makeMerchant, SECRET_KEYS } from "./deliverer.fixture.ts";
import type { OutgoingRequest, Send } from "./https/https-sender.ts";
import { formatSecret } from "./https/signature.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(() => database.drop());

const MINUTE = 60_000;
const fieldsOf = (request: OutgoingRequest) =>
  Object.fromEntries(
    (request.signature ?? []).flatMap((text, index, all) => (index % 2 === 0 ? [[text, all[index + 1] ?? ""]] : [])),
  ) as Record<string, string>;

test("every attempt has a new signature over the same body and event id, by the secrets valid at that time", async () => {
  const { db } = database;
  const { ports, wait } = createManualClock();
  const merchant = await makeMerchant(db);
  const [first, second] = [formatSecret(randomBytes(32)), formatSecret(randomBytes(32))];
  const sent: OutgoingRequest[] = [];
  const send: Send = async (request) => {
    sent.push(request);
    return { outcome: "response", status: 500, retryAfter: null, text: null };
  };
  const deliverer = makeDeliverer({ db, ports, send });
  const [event] = await makeEvents(db, merchant, 1, ports.now());
  const attempt = async (waitMs: number) => {
    wait(waitMs);
    assert.equal(await deliverer.deliverDue(), 1);
  };
  const rotate = (secret: string, overlapMs: number) =>
    rotateWebhookSecret(db, merchant.id, secret, overlapMs, SECRET_KEYS, ports);

  await attempt(0);
  assert.ok(await rotate(first, 24 * 60 * MINUTE));
  await attempt(100);
  assert.ok(await rotate(second, 20 * MINUTE));
  await attempt(5_000);
  await attempt(15_000);
  await attempt(15 * MINUTE);
  await attempt(30 * MINUTE);
  await deliverer.stop();

  const expected: string[][] = [[], [first], [second, first], [second, first], [second, first], [second]];
  assert.equal(sent.length, 6);
  for (const [index, secrets] of expected.entries()) {
    const request = sent[index]!;
    assert.equal(request.body, event!.body);
    const fields = fieldsOf(request);
    if (secrets.length === 0) {
      assert.deepEqual(fields, {}, "no secret, no signature");
      continue;
    }
    assert.equal(fields["webhook-id"], event!.id);
    const started = (await listAttemptsOfEvent(db, merchant.id, event!.id))[index]!.startedAt;
    assert.equal(fields["webhook-timestamp"], String(Math.floor(started.getTime() / 1_000)));
    const signed = `${event!.id}.${fields["webhook-timestamp"]}.${request.body}`;
    const signatures = secrets.map((secret) => {
      const key = Buffer.from(secret.slice(6), "base64");
      return `v1,${createHmac("sha256", key).update(signed).digest("base64")}`;
    });
    assert.equal(fields["webhook-signature"], signatures.join(" "));
  }
});

test("secrets are stored encrypted, a zero overlap ends the old one at once, and removal ends both", async () => {
  const { db } = database;
  const { ports } = createManualClock();
  const { id } = await makeMerchant(db);
  const secret = formatSecret(randomBytes(32));
  await rotateWebhookSecret(db, id, secret, MINUTE, SECRET_KEYS, ports);
  const once = await findMerchant(db, id);
  assert.ok(!once?.webhookSecret?.includes(secret));
  assert.equal(once?.webhookOldSecret, null, "there was no old secret");
  await rotateWebhookSecret(db, id, formatSecret(randomBytes(32)), MINUTE, SECRET_KEYS, ports);
  const twice = await findMerchant(db, id);
  assert.deepEqual(twice?.webhookOldSecret, once?.webhookSecret);
  assert.equal(twice?.webhookOldSecretUntil?.getTime(), ports.now().getTime() + MINUTE);
  await rotateWebhookSecret(db, id, secret, 0, SECRET_KEYS, ports);
  assert.equal((await findMerchant(db, id))?.webhookOldSecret, null);
  assert.ok(await removeWebhookSecret(db, id, ports));
  const removed = await findMerchant(db, id);
  assert.deepEqual(
    [removed?.webhookSecret, removed?.webhookOldSecret, removed?.webhookOldSecretUntil],
    [null, null, null],
  );
  const nobody = "01900000-0000-7000-8000-000000000000";
  assert.equal(await rotateWebhookSecret(db, nobody, secret, 0, SECRET_KEYS, ports), false);
  assert.equal(await removeWebhookSecret(db, nobody, ports), false);
});
