import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import { listAuditEntries } from "../tables/audit-log.ts";
import { createTestContext } from "./context.fixture.ts";
import { merchantCreate, merchantSet } from "./merchant-commands.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(() => database.drop());

async function run(command: typeof merchantCreate, values: Record<string, string | boolean>, words: string[] = []) {
  const { context, lines } = createTestContext(database.db, { webhookAllow: "" });
  assert.equal(await command.run(context, values, words), 0);
  return lines;
}

async function created(values: Record<string, string>): Promise<string> {
  return JSON.parse((await run(merchantCreate, { ...values, json: true }))[0]!).merchantId;
}

test("`merchant create` logs the merchant, its key and its non-default settings in the audit log", async () => {
  const id = await created({ name: "Shop", budget: "4", shape: "flat" });
  const [entry] = await listAuditEntries(database.db, id, { noun: "merchant" }, 10);
  assert.deepEqual([entry!.operation, entry!.actor, entry!.object], ["merchant.created", "command line", "Shop"]);
  assert.deepEqual(entry!.details, { shape: "envelope → flat", budget: "8 → 4" });
  const [key] = await listAuditEntries(database.db, id, { noun: "key" }, 10);
  assert.equal(key!.operation, "key.created");
});

test("`merchant set` prints and logs each change with the name and unit of its option", async () => {
  const id = await created({ name: "Shop" });
  const lines = await run(merchantSet, { "lead-minutes": "30", engine: "static", paused: "yes" }, [id]);
  for (const line of lines) assert.match(line, /^[a-z -]{16} \S/);
  for (const line of [`merchant         ${id}`, "lead minutes     30", "webhook url      none", "paused           yes"])
    assert.ok(lines.includes(line), line);
  const audited = await listAuditEntries(database.db, id, { noun: "merchant" }, 10);
  const changed = audited.find(({ operation }) => operation === "merchant.changed");
  const details = { "lead minutes": "49 → 30", engine: "learned → static", paused: "no → yes" };
  assert.deepEqual([changed!.object, changed!.details], ["Shop", details]);
});

test("`merchant set` refuses an invalid URL with one message", async () => {
  const id = await created({ name: "Shop" });
  await assert.rejects(run(merchantSet, { "webhook-url": "http://shop.example" }, [id]), {
    message: "--webhook-url: the URL must begin with https:// and a host name.",
  });
});
