import assert from "node:assert/strict";
import { test } from "node:test";
import { testDatabase } from "../../test/database.ts";
import { makeEvents, makeMerchant, START } from "../delivery/deliverer.fixture.ts";
import { HOUR_MS } from "../domain/durations.ts";
import { prepared } from "../store/database.ts";
import { printed } from "./context.fixture.ts";
import { deliveryList } from "./delivery.ts";

const CREATED = prepared("test_created", "update events set created_at = $1 where id = $2");

test("of each event delivery list says when its plan was made and when it was created, in UTC, the latest plan first", async (t) => {
  const { db, drop } = await testDatabase();
  t.after(drop);
  const merchant = await makeMerchant(db);
  const [planned] = await makeEvents(db, merchant, 1, START);
  const [paused] = await makeEvents(db, merchant, 1, new Date(START.getTime() + HOUR_MS), "pause_collection");
  await db.run(CREATED, [new Date(START.getTime() + 72 * HOUR_MS), planned!.id]);
  const [head, ...rows] = (await printed(db, deliveryList, {}, [])).split("\n");
  assert.match(head!, /^PLAN MADE +CREATED +TYPE +EVENT/);
  assert.deepEqual(
    rows.map((row) => row.split(/ {2,}/).slice(0, 4)),
    [
      ["2026-03-02T11:00Z", "2026-03-02T11:00Z", "pause_collection", paused!.id],
      ["2026-03-02T10:00Z", "2026-03-05T10:00Z", "recovery_action", planned!.id],
    ],
  );
});
