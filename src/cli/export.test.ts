import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text as textOf } from "node:stream/consumers";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import { createPorts, createShop, runMerchantLife } from "../../test/wall/merchant-life.ts";
import { createListFixture, insertAction, newMerchant, secondsToTime } from "../actions-api/list.fixture.ts";
import { EXPORT_NAMES } from "../import/exports.ts";
import { KIND_NAMES, type KindName } from "../import/record-kinds.ts";
import { FULL_RECORD_BY_KIND, makeRecords, TIMES } from "../import/records.fixture.ts";
import { type Database, prepared } from "../postgres/database.ts";
import { roleAddresses } from "../postgres/roles.ts";
import { openTenantDatabase, type TenantDatabase } from "../postgres/tenant-database.ts";
import { DAY, openStage } from "../recovery/stage.fixture.ts";
import { listAuditEntries } from "../tables/audit-log.ts";
import type { CommandContext, OptionValues } from "./command.ts";
import { createTestContext } from "./context.fixture.ts";
import { explain } from "./explain.ts";
import { exportHistory } from "./export.ts";
import { importHistory } from "./import.ts";

const ports = createPorts("ee");
const folder = mkdtempSync(join(tmpdir(), "dunlin-export-"));
let database: TestDatabase;
let db: Database;
let tenantPool: TenantDatabase;
before(async () => {
  database = await createTestDatabase();
  db = database.db;
  tenantPool = openTenantDatabase(roleAddresses(database.address, true).api, 2, () => {});
});
after(async () => {
  rmSync(folder, { recursive: true });
  await tenantPool.close();
  await database.drop();
});

/** Runs a command, and returns the lines it printed. */
async function run(
  command: typeof exportHistory,
  file: string,
  values: OptionValues,
  over: Partial<CommandContext> = {},
  through = tenantPool,
) {
  const { context, lines } = createTestContext(db, { dataDir: folder }, ports, through);
  assert.equal(await command.run({ ...context, ...over }, values, [file]), 0, lines.join("\n"));
  return lines;
}

async function outputOf(on: Database, values: OptionValues) {
  const { context, output } = createTestContext(on, { dataDir: folder }, ports);
  await exportHistory.run(context, values, ["-"]);
  output.end();
  return (await textOf(output)).split("\n").slice(0, -1);
}

const stored = async (kind: KindName, merchantId: string) =>
  (
    await db.run<{ row: object }>(
      prepared(
        "",
        `select to_jsonb(t) - 'merchant_id' - 'version_at' as row from ${kind} t where merchant_id = $1 order by id`,
      ),
      [merchantId],
    )
  ).rows.map(({ row }) => row);

const lines = (records: readonly object[]) => `${records.map((record) => JSON.stringify(record)).join("\n")}\n`;

test("every field of an export survives an import into another merchant, beside a merchant with the same ids", async () => {
  const [first, other, next] = [await createShop(db, ports), await createShop(db, ports), await createShop(db, ports)];
  for (const kind of KIND_NAMES) {
    const [given, foreign, out, again] = ["given", "foreign", "out", "again"].map((name) =>
      join(folder, `${kind}-${name}.jsonl`),
    ) as [string, string, string, string];
    writeFileSync(given, lines(makeRecords(kind, 1_234)));
    writeFileSync(foreign, lines(makeRecords(kind, 10).map((record) => ({ ...record, amount: 1 }))));
    await run(importHistory, given, { merchant: first.id, as: kind });
    await run(importHistory, foreign, { merchant: other.id, as: kind });
    assert.deepEqual(await run(exportHistory, out, { merchant: first.id, as: kind }), ["Exported 1,235 rows."]);
    await run(importHistory, out, { merchant: next.id, as: kind });
    const rows = await stored(kind, first.id);
    assert.equal(rows.length, 1_235);
    assert.deepEqual(await stored(kind, next.id), rows);
    await run(exportHistory, again, { merchant: next.id, as: kind });
    assert.ok(readFileSync(again).equals(readFileSync(out)));
    // Rows are sorted by id, and missing fields stay missing. Only `updatedAt` is set, from `createdAt`.
    const [full, least] = readFileSync(out, "utf8").split("\n");
    assert.deepEqual(JSON.parse(full!), FULL_RECORD_BY_KIND[kind]);
    assert.equal(JSON.parse(least!).updatedAt, TIMES.createdAt);
  }
});

test("records pushed during an export cause no duplicate or missing row", async () => {
  const { id } = await createShop(db, ports);
  const [given, meanwhile, out] = ["given", "meanwhile", "moving"].map((name) => join(folder, `${name}.jsonl`)) as [
    string,
    string,
    string,
  ];
  const there = makeRecords("invoices", 2_500);
  writeFileSync(given, lines(there));
  const newer = there.map((record) => ({ ...record, amount: 1, updatedAt: "2026-03-01T00:00:00.000Z" }));
  writeFileSync(meanwhile, lines([...newer, { ...newer[0], id: "0" }, { ...newer[0], id: "z" }]));
  await run(importHistory, given, { merchant: id, as: "invoices" });
  let pages = 0;
  const busy: TenantDatabase = {
    ...tenantPool,
    of: (merchantId) => ({
      ...tenantPool.of(merchantId),
      async run(...args) {
        if (++pages === 2) await run(importHistory, meanwhile, { merchant: id, as: "invoices" });
        return tenantPool.of(merchantId).run(...args);
      },
    }),
  };
  await run(exportHistory, out, { merchant: id, as: "invoices" }, {}, busy);
  const rows = readFileSync(out, "utf8").trim().split("\n");
  const written = new Map(rows.map((row) => [JSON.parse(row).id, JSON.parse(row)]));
  assert.equal(written.size, rows.length);
  assert.deepEqual(
    there.filter((record) => !written.has(record.id)),
    [],
  );
  assert.deepEqual([written.get("a").amount, written.get("z").amount], [there[0]!.amount, 1]);
});

test("recovery actions are exported exactly as the API lists them, oldest first", async () => {
  const fixture = await createListFixture();
  try {
    const { merchant, list } = await newMerchant(fixture);
    for (let n = 0; n < 7; n++)
      await insertAction(fixture.database.db, merchant, {
        createdAt: n === 3 ? "2026-01-10T00:00:02.0005Z" : secondsToTime(n),
        executedAt: n % 2 ? secondsToTime(n + 5) : null,
        transactionId: n % 3 ? `tx_${n}` : null,
      });
    const { recoveryActions } = await list({ orderBy: "created_at", orderDirection: "asc" });
    const written = await outputOf(fixture.database.db, { merchant: merchant.id, as: "actions" });
    assert.deepEqual(
      written,
      recoveryActions.map((action) => JSON.stringify(action)),
    );
    assert.equal(written.length, 7);
  } finally {
    await fixture.database.drop();
  }
});

test("decisions are exported as `explain` shows them, each with its invoice", async () => {
  const stage = await openStage();
  try {
    const { id } = await stage.enter();
    await stage.invoice();
    await stage.transaction();
    await stage.decide();
    stage.wait(3 * DAY);
    await stage.transaction();
    await stage.decide();
    const written = await outputOf(stage.db, { merchant: id, as: "decisions" });
    const { invoiceId } = JSON.parse(written[0]!);
    const { context, lines } = createTestContext(stage.db, {}, ports);
    await explain.run(context, { json: true }, [invoiceId]);
    const { decisions } = JSON.parse(lines[0]!) as { decisions: object[] };
    assert.ok(decisions.length > 1);
    assert.deepEqual(
      written,
      decisions.map((decision) => JSON.stringify({ invoiceId, ...decision })),
    );
  } finally {
    await stage.drop();
  }
});

test("an export replaces an existing file only with --force, and makes it readable for its owner alone", async () => {
  const { id } = await createShop(db, ports);
  const path = join(folder, "there.jsonl");
  writeFileSync(path, "mine");
  const values = { merchant: id, as: "invoices" };
  await assert.rejects(run(exportHistory, path, values), /there\.jsonl already exists\. To replace it, add --force/);
  assert.equal(readFileSync(path, "utf8"), "mine");
  assert.deepEqual(await run(exportHistory, path, { ...values, force: true }), ["Exported 0 rows."]);
  assert.equal(readFileSync(path, "utf8"), "");
  assert.equal(statSync(path).mode & 0o777, 0o600);
});

test("a failed or stopped export leaves no file and keeps the one it was to replace", async () => {
  const { id } = await createShop(db, ports);
  const given = join(folder, "given.jsonl");
  writeFileSync(given, lines(makeRecords("invoices", 1_500)));
  const values = { merchant: id, as: "invoices", force: true };
  await run(importHistory, given, values);
  const path = join(folder, "broken.jsonl");
  writeFileSync(path, "mine");
  const names = readdirSync(folder);
  let pages = 0;
  const dying: TenantDatabase = {
    ...tenantPool,
    of: (merchantId) => ({
      ...tenantPool.of(merchantId),
      run: (...args) => (++pages > 1 ? Promise.reject(new Error("killed")) : tenantPool.of(merchantId).run(...args)),
    }),
  };
  await assert.rejects(run(exportHistory, path, values, {}, dying), /killed/);
  await assert.rejects(run(exportHistory, path, values, { stopped: Promise.resolve() }), /Stopped after 0 rows/);
  assert.deepEqual(readdirSync(folder), names);
  assert.equal(readFileSync(path, "utf8"), "mine");
  await assert.rejects(
    run(exportHistory, join(folder, "no", "x.jsonl"), values),
    /Cannot write .*no\/x\.jsonl: ENOENT/,
  );
});

test("an export is in the audit log before any record is read", async () => {
  const { id } = await createShop(db, ports);
  const dying: TenantDatabase = { ...tenantPool, of: () => assert.fail("killed") };
  const path = join(folder, "written-down.jsonl");
  await assert.rejects(run(exportHistory, path, { merchant: id, as: "decisions" }, {}, dying), /killed/);
  await outputOf(db, { merchant: id, as: "actions" });
  const audited = await listAuditEntries(db, id, { noun: "export" }, 10);
  assert.deepEqual(
    audited.map(({ operation, object, actor, details }) => [operation, object, actor, details]),
    [
      ["export.made", "actions", "command line", { file: "standard output" }],
      ["export.made", "decisions", "command line", { file: "written-down.jsonl" }],
    ],
  );
});

test("an export contains no secret and no record of another merchant with the same ids", async () => {
  const secrets = ["hush-hush", "tell-nobody"] as const;
  const lives = await Promise.all(
    secrets.map(async (secret, n) => {
      const own = createPorts(`e${n}`);
      const merchant = await createShop(db, own, { credential: { auth: "bearer", secret } });
      await runMerchantLife(db, merchant, own, `cus_of_${secret}`);
      return merchant.id;
    }),
  );
  for (const [n, merchant] of lives.entries())
    for (const as of EXPORT_NAMES) {
      const path = join(folder, `life-${n}-${as}.jsonl`);
      await run(exportHistory, path, { merchant, as });
      const written = readFileSync(path, "utf8");
      assert.ok(written.split("\n").length > 1, as);
      const others = written.replaceAll(`cus_of_${secrets[n]}`, "");
      for (const secret of secrets) assert.ok(!others.includes(secret), `${as} of ${n}`);
    }
});

test("a wrong option is refused with the values it takes", async () => {
  const { id } = await createShop(db, ports);
  const wrong: [string, OptionValues, RegExp][] = [
    ["x.jsonl", { as: "invoices" }, /--merchant takes the id/],
    ["x.jsonl", { merchant: id, as: "keys" }, /--as takes one of subscriptions, .*, actions, decisions\./],
    ["x.csv", { merchant: id, as: "invoices" }, /FILE must end in \.jsonl or \.ndjson, or be "-"/],
    ["x.jsonl", { merchant: id.replace(/.$/, "f"), as: "invoices" }, /There is no merchant/],
  ];
  for (const [file, values, says] of wrong) await assert.rejects(run(exportHistory, file, values), says);
});
