import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { createTestDatabase } from "../../test/database.ts";
import type { Merchant } from "../domain/merchant.ts";
import type { Ports } from "../domain/ports.ts";
import { findMerchant, updateMerchant } from "../tables/merchants.ts";
import { changeMerchant, createMerchant, type MerchantSettings, rotateWebhookSecret } from "./merchant-settings.ts";

const { db, drop } = await createTestDatabase();
after(drop);

const KEYS = [Buffer.alloc(32, 5)];
const NOW = new Date("2026-05-04T09:00:00Z");
const LONG_AGO = new Date("2026-05-01T08:00:00Z");
const ports: Ports = {
  now: () => NOW,
  realNow: () => NOW,
  monotonicMs: () => 0,
  clockRate: 1,
  randomBytes,
  newId: randomUUID,
};
const ENDPOINT: MerchantSettings = {
  webhookUrl: "https://shop.example/hooks",
  credential: { auth: "bearer", secret: "one" },
};

/** Returns the pause state after a change. */
async function applyChange(state: Partial<Merchant>, change: MerchantSettings) {
  const merchant = await createMerchant(db, "Shop", ENDPOINT, KEYS, ports);
  await updateMerchant(db, { ...merchant, ...state }, NOW);
  await changeMerchant(db, merchant.id, change, KEYS, ports);
  return stateOf((await findMerchant(db, merchant.id))!);
}
const stateOf = ({ webhookPaused, webhookPausedAt, webhookPausedBy, webhookFailingSince }: Merchant) => ({
  webhookPaused,
  webhookPausedAt,
  webhookPausedBy,
  webhookFailingSince,
});

const NOT_PAUSED = { webhookPaused: false, webhookPausedAt: null, webhookPausedBy: null, webhookFailingSince: null };
const PAUSED_BY_DUNLIN = {
  webhookPaused: true,
  webhookPausedAt: LONG_AGO,
  webhookPausedBy: "dunlin",
  webhookFailingSince: LONG_AGO,
} as const;
const PAUSED_BY_PERSON = { ...PAUSED_BY_DUNLIN, webhookPausedBy: "person" } as const;

test("a person who resumes ends any pause and clears the failure mark", async () => {
  assert.deepEqual(await applyChange(PAUSED_BY_DUNLIN, { webhookPaused: false }), NOT_PAUSED);
  assert.deepEqual(await applyChange(PAUSED_BY_PERSON, { webhookPaused: false }), NOT_PAUSED);
});

test("Dunlin's pause becomes a manual pause when a person pauses too", async () => {
  const paused = {
    webhookPaused: true,
    webhookPausedAt: NOW,
    webhookPausedBy: "person",
    webhookFailingSince: LONG_AGO,
  };
  assert.deepEqual(await applyChange(PAUSED_BY_DUNLIN, { webhookPaused: true }), paused);
  assert.deepEqual(await applyChange(PAUSED_BY_PERSON, { webhookPaused: true }), PAUSED_BY_PERSON);
});

for (const [name, change] of [
  ["another URL", { webhookUrl: "https://shop.example/other" }],
  ["another credential", { credential: { auth: "bearer", secret: "two" } }],
  ["sub-paths", { webhookSubPaths: true }],
  ["another shape", { webhookFlat: true }],
] as [string, MerchantSettings][])
  test(`${name} ends Dunlin's pause and clears the failure mark, but keeps a manual pause`, async () => {
    assert.deepEqual(await applyChange(PAUSED_BY_DUNLIN, change), NOT_PAUSED);
    assert.deepEqual(await applyChange({ webhookFailingSince: LONG_AGO }, change), NOT_PAUSED);
    assert.deepEqual(await applyChange(PAUSED_BY_PERSON, change), { ...PAUSED_BY_PERSON, webhookFailingSince: null });
  });

test("the pause stays when no endpoint setting changes", async () => {
  assert.deepEqual(
    await applyChange(PAUSED_BY_DUNLIN, { webhookCap: 9, webhookUrl: ENDPOINT.webhookUrl! }),
    PAUSED_BY_DUNLIN,
  );
});

test("a new signing secret ends Dunlin's pause, because the endpoint may have rejected the signature", async () => {
  const merchant = await createMerchant(db, "Shop", ENDPOINT, KEYS, ports);
  await updateMerchant(db, { ...merchant, ...PAUSED_BY_DUNLIN }, NOW);
  await rotateWebhookSecret(db, merchant.id, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", 0, KEYS, ports);
  assert.deepEqual(stateOf((await findMerchant(db, merchant.id))!), NOT_PAUSED);
});

test("a merchant created as paused has a manual pause", async () => {
  const merchant = await createMerchant(db, "Shop", { ...ENDPOINT, webhookPaused: true }, KEYS, ports);
  const { webhookPausedAt, webhookPausedBy } = (await findMerchant(db, merchant.id))!;
  assert.deepEqual([webhookPausedAt, webhookPausedBy], [NOW, "person"]);
});
