import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createTestDatabase } from "../../test/database.ts";
import { testClock, testMerchant, testPorts } from "../api/api.fixture.ts";
import { HOUR_MS } from "../domain/durations.ts";
import { lockApiKey } from "../tables/api-keys.ts";
import { createApiKey, rotateApiKey } from "./api-keys.ts";

const database = await createTestDatabase();
after(() => database.drop());
const { db } = database;
const clock = testClock();
const ports = testPorts(clock);
const merchant = await testMerchant(db, ports);
const newKey = (lifeMs?: number) =>
  createApiKey(
    db,
    {
      merchantId: merchant.id,
      permissions: ["ingest:invoices"],
      expiresAt: lifeMs === undefined ? undefined : new Date(clock.serviceMs + lifeMs),
    },
    ports,
  );
const rotate = (keyId: string, overlapMs: number) =>
  db.transaction(async (tx) => {
    const former = (await lockApiKey(tx, merchant.id, keyId))!;
    return rotateApiKey(tx, former, overlapMs, { createdBy: "ada@example.com" }, ports);
  });

test("a rotation ends the former key after the overlap, or at its expiry if that is earlier", async () => {
  for (const [lifeMs, overlapMs, endsMs] of [
    [undefined, HOUR_MS, HOUR_MS],
    [30 * 60_000, HOUR_MS, 30 * 60_000],
    [2 * HOUR_MS, HOUR_MS, HOUR_MS],
    [undefined, 0, 0],
  ] as const) {
    const { keyId } = await newKey(lifeMs);
    const rotated = await rotate(keyId, overlapMs);
    assert.ok(typeof rotated === "object");
    assert.equal(rotated.formerEndsAt.getTime() - clock.serviceMs, endsMs);
    const stored = (await lockApiKey(db, merchant.id, keyId))!;
    assert.equal(stored.revokedAt !== null, overlapMs === 0);
    assert.equal((stored.revokedAt ?? stored.expiresAt)!.getTime() - clock.serviceMs, endsMs);
  }
});

test("a rotation is refused when the key has expired", async () => {
  const { keyId } = await newKey(1);
  clock.serviceMs += 1;
  assert.equal(await rotate(keyId, HOUR_MS), "This key is no longer valid.");
});
