import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../database.ts";
import { crashAtEveryStatement } from "./every-statement.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(() => database.drop());

for (const seed of [1, 2])
  test(`a crash or a broken connection before, during or after any statement of a delivery breaks no invariant (seed ${seed})`, async (t) => {
    const { stories, hits, problems } = await crashAtEveryStatement({ db: database.db, seed, share: 0.05 });
    t.diagnostic(`${stories} stories, ${[...hits].map(([name, count]) => `${count} ${name}`).join(", ")}`);
    assert.deepEqual(problems, []);
    assert.ok(stories > 10);
  });
