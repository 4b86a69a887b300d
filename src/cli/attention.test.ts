import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import { createAttentionStore } from "../attention/attention.fixture.ts";
import { makeMerchant, realPorts } from "../delivery/deliverer.fixture.ts";
import { attention } from "./attention.ts";
import { runAndCapture } from "./context.fixture.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(() => database.drop());

test("`attention` prints each matter with its money, and with --json what the API returns", async () => {
  const { db } = database;
  const { id } = await makeMerchant(db);
  const run = (values = {}) => runAndCapture(db, attention, values, []);
  assert.equal(await run(), "Nothing needs attention.");
  const store = createAttentionStore(db, id, realPorts.now());
  await store.giveUpEvent(await store.openCase({ amount: 900 }), new Date(realPorts.now().getTime() - 7_200_000));
  assert.equal(
    await run(),
    "broken  Dunlin gave up 1 event (EUR 9.00)\n        Every attempt to deliver it failed. It was given up 2 hours ago. Send it again.",
  );
  const { items } = JSON.parse(await run({ json: true, merchant: id }));
  assert.deepEqual(
    items.map(({ kind }: { kind: string }) => kind),
    ["instructions_given_up"],
  );
});
