import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { createTestDatabase } from "../../test/database.ts";
import { createWaitingEvent } from "../../test/waiting-event.ts";
import { createPorts, createShop } from "../../test/wall/merchant-life.ts";
import { prepared, type Statement } from "../postgres/database.ts";
import { listenOn, parseChannel } from "../postgres/notifications.ts";
import { roleAddresses } from "../postgres/roles.ts";
import { openTenantDatabase, type TenantDatabase } from "../postgres/tenant-database.ts";
import type { OptionValues } from "./command.ts";
import { createTestContext } from "./context.fixture.ts";
import { importHistory } from "./import.ts";

const { db, address, drop } = await createTestDatabase();
const tenantPool = openTenantDatabase(roleAddresses(address, true).api, 2, () => {});
const folder = mkdtempSync(join(tmpdir(), "dunlin-import-"));
after(async () => {
  rmSync(folder, { recursive: true });
  await tenantPool.close();
  await drop();
});
const ports = createPorts("aa");
const text = (sql: string): Statement => prepared("", sql);
const count = async (table: string, merchantId: string) =>
  (await db.run<{ n: number }>(text(`select count(*) as n from ${table} where merchant_id = $1`), [merchantId]))
    .rows[0]!.n;

function file(name: string, content: string) {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

async function run(path: string, values: OptionValues, through: TenantDatabase = tenantPool) {
  const { context, lines } = createTestContext(db, { dataDir: folder }, ports, through);
  const code = await importHistory.run(context, values, [path]);
  return { code, lines };
}

const HEADER = "number,state,customerId,total,currency,createdAt,updatedAt,note\n";
const MAP = "id=number,amount=total";
const row = (id: number, state = "UNPAID", updatedAt = "2026-02-01T00:00:00Z") =>
  `inv_${id},INVOICE_STATE_${state},cus_${id},4900,EUR,2026-01-01T00:00:00Z,${updatedAt},"two\nlines, and ""quotes"""\n`;
const IGNORED_COLUMNS_MESSAGE = "Ignored columns (no matching field): note";
const rows = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => row(from + index)).join("");

test("a CSV with renamed columns is stored, and its unpaid invoices open no case", async () => {
  const { id } = await createShop(db, ports);
  const path = file("invoices.csv", `\ufeff${HEADER}${rows(0, 450)}`);
  const { code, lines } = await run(path, { merchant: id, as: "invoices", map: MAP });
  assert.equal(code, 0, lines.join("\n"));
  assert.deepEqual(lines, [
    "Checked 450 rows. All are valid. The first is EUR 49.00 at 2026-01-01T00:00:00.000Z.",
    IGNORED_COLUMNS_MESSAGE,
    "Stored 450 rows.",
  ]);
  assert.equal(await count("invoices", id), 450);
  assert.equal(await count("cases", id), 0);
  assert.deepEqual(readdirSync(join(folder, "imports")), []);
});

test("an older version in a file does not replace a newer stored one", async () => {
  const { id } = await createShop(db, ports);
  const values = { merchant: id, as: "invoices", map: MAP };
  await run(file("new.csv", HEADER + row(1, "PAID", "2026-03-01T00:00:00Z")), values);
  const { lines } = await run(file("old.csv", HEADER + row(1) + row(2)), values);
  assert.match(lines.at(-1)!, /^Stored 1 row\. Skipped 1: the same or a newer version is already stored\.$/);
  const { rows } = await db.run(text("select id, state from invoices where merchant_id = $1 order by id"), [id]);
  assert.deepEqual(rows, [
    { id: "inv_1", state: "PAID" },
    { id: "inv_2", state: "UNPAID" },
  ]);
});

test("invalid rows are listed by line and column, and nothing is stored", async () => {
  const { id } = await createShop(db, ports);
  const wrong = `${row(1)}${row(2).replace("4900", "49.00").replace("2026-01-01", "2026-02-30")}${row(3).replace("EUR", "euro")}${row(4).replace("cus_4", "")}`;
  const path = file("wrong.csv", HEADER + wrong + row(5, "LOST"));
  const errors = join(folder, "errors.csv");
  const { code, lines } = await run(path, { merchant: id, as: "invoices", map: MAP, errors });
  assert.equal(code, 1);
  assert.match(lines.join(), /4 rows are invalid \(see .*\)\. Nothing was stored\./);
  const report = readFileSync(errors, "utf8").trim().split("\n");
  assert.equal(report[0], "line,column,error");
  // Each row has two lines, and so has the header with row 1.
  assert.match(report[1]!, /^4,total,"must be a whole number of minor units from 0, such as 4900 for EUR 49\.00; /);
  assert.match(report[2]!, /^4,createdAt,"must be an RFC 3339 timestamp /);
  assert.deepEqual(report.slice(3, 5), ["6,currency,must be three capital letters", "8,customerId,is required"]);
  assert.match(report[5]!, /^10,state,"must be one of PAID, .*; --states LOST=STATE maps/);
  const one = await run(file("one.csv", HEADER + row(1) + row(2).replace("cus_2", "")), {
    merchant: id,
    as: "invoices",
    map: MAP,
  });
  assert.deepEqual(one.lines, [
    "line,column,error",
    "4,customerId,is required",
    "1 row is invalid. Nothing was stored.",
  ]);
  const card = row(1).replace("cus_1", "4111 1111 1111 1111").replace("EUR", "euro");
  const both = await run(file("card.csv", HEADER + card), { merchant: id, as: "invoices", map: MAP });
  assert.deepEqual(both.lines.slice(1, 3), [
    "2,customerId,must not hold a card number",
    "2,currency,must be three capital letters",
  ]);
  assert.equal(await count("invoices", id), 0);
  const dry = await run(file("dry.csv", HEADER + row(1)), { merchant: id, as: "invoices", map: MAP, "dry-run": true });
  assert.deepEqual(
    [dry.code, dry.lines, await count("invoices", id)],
    [0, ["Checked 1 row. It is valid: EUR 49.00 at 2026-01-01T00:00:00.000Z.", IGNORED_COLUMNS_MESSAGE], 0],
  );
});

test("a fault shared by many rows is printed once with the first lines", async () => {
  const { id } = await createShop(db, ports);
  const content = HEADER + rows(0, 300).replaceAll("4900", "49.00");
  const { lines } = await run(file("decimals.csv", content), { merchant: id, as: "invoices", map: MAP });
  assert.equal(lines.length, 3, lines.join("\n"));
  assert.match(lines[1]!, /^2,total,"must be .* use --decimals point or comma \(300 rows: lines 2, 4, 6 and so on\)"$/);
  assert.equal(lines[2], "300 rows are invalid. Nothing was stored.");
});

test("a payment export is imported as it is when options settle what is ambiguous", async () => {
  const { id } = await createShop(db, ports);
  const heading =
    "id,Created date (UTC),Amount,Amount Refunded,Currency,Decline Reason,Payment Source Type,Status,Card Brand,Card Funding,Card Issue Country,Customer ID,Customer Description,Invoice ID";
  const payments = [
    "ch_1,2026-01-02 08:30:00,12.30,0.00,eur,insufficient_funds,card,Failed,Visa,debit,DE,cus_1,,in_1",
    "ch_2,2026-01-05 08:30:00,12.30,0.00,eur,,card,Paid,Visa,debit,DE,cus_1,,in_1",
    'ch_3,2026-01-05 09:00:00,"1,200",0,jpy,,card,Refunded,MasterCard,credit,JP,cus_2,"Joe, ""the"" Doe",in_2',
  ];
  const map =
    "state=Status,createdAt=Created date (UTC),paymentGatewayErrorCode=Decline Reason,paymentMethodType=Payment Source Type,cardCountry=Card Issue Country";
  const options = { merchant: id, as: "transactions", map, dates: "ymd", decimals: "point", states: "payed=PAID" };
  const { code, lines } = await run(file("payments.csv", [heading, ...payments].join("\r\n")), options);
  assert.deepEqual(
    [code, lines],
    [
      0,
      [
        "Checked 3 rows. All are valid. The first is EUR 12.30 at 2026-01-02T08:30:00.000Z.",
        "Ignored columns (no matching field): Amount Refunded, Customer Description",
        'Unused in --states: no row has the state "PAYED".',
        "Stored 3 rows.",
      ],
    ],
  );
  const sql =
    "select id, state, invoice_id, amount, currency, created_at from transactions where merchant_id = $1 order by id";
  const stored = (await db.run<Record<string, unknown>>(text(sql), [id])).rows.map(Object.values);
  assert.deepEqual(stored, [
    ["ch_1", "FAILED", "in_1", 1230, "EUR", new Date("2026-01-02T08:30:00Z")],
    ["ch_2", "PAID", "in_1", 1230, "EUR", new Date("2026-01-05T08:30:00Z")],
    ["ch_3", "REFUNDED", "in_2", 1200, "JPY", new Date("2026-01-05T09:00:00Z")],
  ]);
});

test("CSV options are refused for JSONL", async () => {
  const { id } = await createShop(db, ports);
  const path = file("decimals.jsonl", '{"amount":12}');
  await assert.rejects(
    run(path, { merchant: id, as: "invoices", decimals: "point" }),
    /^Error: --map, --states, --dates and --decimals are for CSV/,
  );
  await assert.rejects(run(path, { merchant: id, as: "invoices", map: MAP }), /are for CSV, and this file is JSON/);
  await assert.rejects(run(path, { merchant: id, as: "invoices", dates: "german" }), /--dates takes one of ymd, dmy/);
});

test("a file without rows is reported", async () => {
  const { id } = await createShop(db, ports);
  for (const content of ["", HEADER])
    for (const values of [{ "dry-run": true }, {}]) {
      const { code, lines } = await run(file("empty.csv", content), {
        merchant: id,
        as: "invoices",
        map: MAP,
        ...values,
      });
      assert.deepEqual([code, lines], [0, ["The file has no rows."]]);
    }
  assert.deepEqual(readdirSync(join(folder, "imports")), []);
});

test("JSONL takes records of the API and follows the same rules", async () => {
  const { id } = await createShop(db, ports);
  const attempt = {
    id: "tx_1",
    state: "TRANSACTION_STATE_FAILED",
    invoiceId: "i",
    amount: 1,
    currency: "EUR",
    createdAt: "2026-01-01T00:00:00Z",
  };
  const line = JSON.stringify(attempt);
  const path = file("attempts.jsonl", `${line}\n\n${line.replace("tx_1", "tx_2")}`);
  assert.equal((await run(path, { merchant: id, as: "transactions" })).code, 0);
  assert.equal(await count("transactions", id), 2);
  const card = line.replace('"id"', '"note":"4111 1111 1111 1111","id"');
  const twice = line.replace('"amount"', '"amount":1,"amount"');
  const { lines } = await run(file("bad.jsonl", `${card}\n${twice}\nnothing\n${line},${line}\n`), {
    merchant: id,
    as: "transactions",
  });
  assert.deepEqual(lines.slice(1, 3), [
    '1,note,"must not hold a card number (13 to 19 digits that pass the Luhn check): card numbers are not accepted anywhere, not even in unknown fields"',
    "2,amount,appears twice in the same object",
  ]);
  assert.deepEqual(lines.slice(3, 5), ["3,,is not valid JSON", "4,,must hold one record"]);
  const both = card.replace("EUR", "euro").replace('"invoiceId":"i",', "");
  const all = await run(file("both.jsonl", `${both},{}\n{"id":1}],"more":[1`), { merchant: id, as: "transactions" });
  assert.deepEqual(all.lines.slice(1, 3), [
    '1,invoiceId,"is required (2 rows: lines 1, 2)"',
    "1,currency,must be three capital letters",
  ]);
  assert.match(all.lines[3]!, /^1,note,"must not hold a card number/);
  assert.match(all.lines[4]!, /^2,id,"must be a string/);
});

test("an interrupted import resumes where it stopped", async () => {
  const { id } = await createShop(db, ports);
  const path = file("long.csv", HEADER + rows(0, 1_000));
  const values = { merchant: id, as: "invoices", map: MAP };
  let batches = 0;
  const dying: TenantDatabase = {
    ...tenantPool,
    of(merchantId) {
      if (++batches > 3) throw new Error("killed");
      return tenantPool.of(merchantId);
    },
  };
  await assert.rejects(run(path, values, dying), /killed/);
  assert.equal(await count("invoices", id), 600);
  const { lines } = await run(path, values);
  assert.deepEqual(lines, ["Resuming after 600 rows that are already stored.", "Stored 400 rows."]);
  assert.equal(await count("invoices", id), 1_000);
});

test("an import with other --decimals starts from the first row", async () => {
  const { id } = await createShop(db, ports);
  const path = file("whole.csv", HEADER + rows(0, 400));
  const values = { merchant: id, as: "invoices", map: MAP };
  let batches = 0;
  const of: TenantDatabase["of"] = (merchantId) => {
    if (++batches > 1) throw new Error("killed");
    return tenantPool.of(merchantId);
  };
  await assert.rejects(run(path, values, { ...tenantPool, of }), /killed/);
  const { lines } = await run(path, { ...values, decimals: "point" });
  assert.deepEqual(lines, [
    "Checked 400 rows. All are valid. The first is EUR 4,900.00 at 2026-01-01T00:00:00.000Z.",
    IGNORED_COLUMNS_MESSAGE,
    "Stored 400 rows.",
  ]);
  const sums = "select amount, count(*)::int as n from invoices where merchant_id = $1 group by 1 order by 1";
  assert.deepEqual((await db.run<Record<string, unknown>>(text(sums), [id])).rows.map(Object.values), [[490000, 400]]);
});

test("an import with other --states starts from the first row", async () => {
  const { id } = await createShop(db, ports);
  const path = file("meant.csv", HEADER + rows(0, 400).replaceAll("INVOICE_STATE_", ""));
  const values = { merchant: id, as: "invoices", map: MAP };
  let batches = 0;
  const of: TenantDatabase["of"] = (merchantId) => {
    if (++batches > 1) throw new Error("killed");
    return tenantPool.of(merchantId);
  };
  await assert.rejects(run(path, { ...values, states: "unpaid=DRAFT" }, { ...tenantPool, of }), /killed/);
  const { lines } = await run(path, { ...values, states: "unpaid=VOIDED" });
  assert.match(lines[0]!, /^Checked 400 rows\. All are valid/);
  const states = "select state, count(*)::int as n from invoices where merchant_id = $1 group by 1 order by 1";
  assert.deepEqual((await db.run<Record<string, unknown>>(text(states), [id])).rows.map(Object.values), [
    ["VOIDED", 400],
  ]);
});

test("other processes are notified of the events that an imported payment withdraws", async () => {
  const merchant = await createShop(db, ports);
  const event = await createWaitingEvent(db, merchant, ports);
  const heard: unknown[] = [];
  const connection = await db.connect();
  connection.onNotified((name, payload) => heard.push([parseChannel(name), payload]));
  await listenOn(connection, "withdrawn");
  const paid = HEADER + row(1, "PAID", "2026-03-03T00:00:00Z");
  const { code } = await run(file("paid.csv", paid), { merchant: merchant.id, as: "invoices", map: MAP });
  assert.equal(code, 0);
  // PostgreSQL delivers notifications before this answer.
  await connection.run(text("select 1"));
  await connection.close();
  assert.deepEqual(heard, [["withdrawn", `${merchant.id} ${event}`]]);
});
