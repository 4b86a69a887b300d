import assert from "node:assert/strict";
import { request as connect, type OutgoingHttpHeaders } from "node:http";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createWaitingEvent } from "../../../test/waiting-event.ts";
import { DEFAULT_CSV_FORMAT } from "../../domain/csv-format.ts";
import { describeAmountRule } from "../../domain/value-format.ts";
import { createMerchant } from "../../merchants/merchant-settings.ts";
import { prepared } from "../../postgres/database.ts";
import { listAuditEntries } from "../../tables/audit-log.ts";
import { createTestConsole, SAME_ORIGIN, SECRET_KEYS, type TestConsole } from "../console.fixture.ts";
import { UPLOAD_BYTES_MAX } from "./upload.ts";

let at: TestConsole;
let port: number;
before(async () => {
  at = await createTestConsole();
  ({ port } = await at.api.listen({ host: "127.0.0.1", port: 0 }));
});
after(() => at.close());

const SCRIPT = "<script>alert(1)</script>";
const FORMULA = "=1+1";
const MAP = "id=number,amount=total";
const HEADER = "number,state,customerId,total,currency,createdAt,note\n";
const row = (id: number | string, total = "4900") =>
  `${id},INVOICE_STATE_UNPAID,cus_1,${total},EUR,2026-01-01T00:00:00Z,anything\n`;
const rows = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => row(`in_${from + index}`)).join("");

async function shop() {
  const merchant = await createMerchant(at.db, "Shop", {}, SECRET_KEYS, at.ports);
  const as = async (role: "owner" | "developer" | "viewer") => {
    const { person, cookie, get } = await at.browser(await at.person(role, merchant));
    return {
      person,
      cookie,
      get,
      send: (path: string, file: Sent = {}, headers = {}) => send(path, cookie, file, headers),
    };
  };
  const count = async (name: keyof typeof COUNTS) =>
    (await at.db.run<{ n: number }>(COUNTS[name], [merchant.id])).rows[0]!.n;
  const imports = () => listAuditEntries(at.db, merchant.id, { noun: "history" }, 10);
  return { merchant, as, count, imports };
}
const COUNTS = {
  invoices: prepared("test_count_invoices", "select count(*) as n from invoices where merchant_id = $1"),
  cases: prepared("test_count_cases", "select count(*) as n from cases where merchant_id = $1"),
};

interface Sent extends Partial<Record<"name" | "kind" | "map" | "states" | "dates" | "decimals", string>> {
  content?: string | Buffer<ArrayBuffer>;
}

/** Sends the form as a browser does. */
async function bodyOf({ name = "invoices.csv", content = HEADER + row("in_1"), ...said }: Sent) {
  const form = new FormData();
  for (const [field, value] of Object.entries({ kind: "invoices", map: MAP, ...said })) form.set(field, value);
  form.set("file", new File([content], name));
  const written = new Response(form);
  return { type: written.headers.get("content-type")!, bytes: Buffer.from(await written.arrayBuffer()) };
}

async function send(path: string, cookie: string, file: Sent, over: OutgoingHttpHeaders = {}) {
  const { type, bytes } = await bodyOf(file);
  const length = "transfer-encoding" in over ? {} : { "content-length": bytes.length };
  const { request, answered } = open(path, { cookie, "content-type": type, ...length, ...over });
  request.end(bytes);
  return answered;
}

/** Sends a body piece by piece over a real connection, because uploads take time. */
function open(path: string, over: OutgoingHttpHeaders) {
  const headers = { ...SAME_ORIGIN, ...over };
  const request = connect({ port, host: "127.0.0.1", path, method: "POST", headers, agent: false });
  const answered = new Promise<{ status: number; type: string | undefined; body: string }>((resolve, reject) => {
    request.on("error", reject);
    request.on("response", async (response) => {
      const bytes = Buffer.concat(await response.toArray());
      resolve({ status: response.statusCode!, type: response.headers["content-type"], body: bytes.toString() });
    });
  });
  return { request, answered };
}

test("a check shows the columns and a preview, and stores nothing", async () => {
  const { as, count, imports } = await shop();
  const developer = await as("developer");
  const content = `\ufeff${HEADER}${row(SCRIPT)}${row(FORMULA, "1234567")}${rows(0, 448).replace("INVOICE_STATE_UNPAID", "still open")}`;
  const { status, body } = await developer.send("/import/check", { content, states: "Still-open=UNPAID" });
  assert.equal(status, 200);
  assert.match(body, /450 rows, all valid\. Nothing was stored yet\./);
  assert.match(body, /<code>amount<\/code><\/td><td data-head="Column">total<\/td>/);
  assert.match(body, /Ignored columns \(no matching field\)<\/dt><dd>note<\/dd>/);
  assert.match(body, /Preview of valid rows/);
  assert.match(body, /EUR\u00a012,345\.67<br><small>1234567<\/small>/);
  assert.ok(body.includes("&lt;script&gt;alert(1)") && !body.includes("<script>alert"), "text stays text");
  for (const typed of [MAP, "Still-open=UNPAID"]) assert.match(body, new RegExp(` value="${typed}"`)); // kept for the import
  assert.deepEqual([await count("invoices"), await imports()], [0, []]);
});

test("the sender is notified of the events that an imported payment withdraws", async () => {
  const { merchant, as } = await shop();
  const event = await createWaitingEvent(at.db, merchant, at.ports);
  const updatedAt = new Date(at.ports.now().getTime() + 1_000).toISOString();
  const content = `id,state,customerId,amount,currency,createdAt,updatedAt\ninv_1,INVOICE_STATE_PAID,cus_1,4900,EUR,${updatedAt},${updatedAt}\n`;
  assert.equal((await (await as("owner")).send("/import", { content, map: "" })).status, 200);
  assert.deepEqual(at.withdrawn, [[merchant.id, event]]);
});

test("an import stores every row once, opens no case and is audited with the person", async () => {
  const { as, count, imports } = await shop();
  const owner = await as("owner");
  const content = HEADER + rows(0, 450);
  assert.match((await owner.send("/import", { content })).body, /Stored 450 rows\.</);
  assert.deepEqual([await count("invoices"), await count("cases")], [450, 0]);
  const [entry] = await imports();
  assert.deepEqual(
    [entry?.operation, entry?.object, entry?.actor, entry?.details],
    ["history.imported", "invoices", owner.person.email, { rows: 450, "known before": 0, file: "invoices.csv" }],
  );
  assert.match(
    (await owner.send("/import", { content })).body,
    /Stored 0 rows\. Skipped 450: the same or a newer version/,
  );
  assert.equal(await count("invoices"), 450);
});

test("invalid rows are listed by line and column, on the page and as CSV, and an import stops before the first", async () => {
  const { as, count, imports } = await shop();
  const owner = await as("owner");
  const content = HEADER + rows(0, 400) + row("in_400", "49.00").replace("EUR", "euro") + rows(401, 700);
  const says = describeAmountRule(DEFAULT_CSV_FORMAT);
  const checked = (await owner.send("/import/check", { content })).body;
  assert.match(checked, /1 of 700 rows is invalid\. Nothing was stored\./);
  assert.ok(checked.includes(`402</td><td data-head="Column">total</td><td data-head="Error">${says}</td>`));
  const csv = await owner.send("/import/wrong.csv", { content });
  assert.equal(csv.type, "text/csv; charset=utf-8");
  const currency = "402,currency,must be three capital letters";
  assert.equal(csv.body, `\ufeffline,column,error\r\n402,total,"${says}"\r\n${currency}\r\n`);
  assert.equal(await count("invoices"), 0);
  const imported = (await owner.send("/import", { content })).body;
  assert.match(imported, /1 of 700 rows is invalid\. Stored 400 rows, up to the first invalid row/);
  assert.equal(await count("invoices"), 400);
  const [entry] = await imports();
  assert.deepEqual(entry?.details, { rows: 400, "known before": 0, file: "invoices.csv", "whole file": "no" });
  assert.match((await owner.get("/import")).body, /400<br><small>incomplete/);
  const again = (await owner.send("/import", { content })).body;
  assert.match(again, /Stored 0 rows\. Skipped 400: the same or a newer version/);
  const fixed = (await owner.send("/import", { content: content.replace("49.00,euro", "4900,EUR") })).body;
  assert.match(fixed, /Stored 300 rows\. Skipped 400: the same or a newer version/);
});

test("dates and amounts are read in the chosen formats, which the form keeps for the import", async () => {
  const owner = await (await shop()).as("owner");
  const content = HEADER + row("in_1", "49.05").replace("2026-01-01T00:00:00Z", "25.11.2025");
  const { body } = await owner.send("/import/check", { content, dates: "dmy", decimals: "point" });
  assert.match(body, /value="dmy" selected>[\s\S]*value="point" selected>[\s\S]*EUR\u00a049\.05<br><small>4905</);
});

test("JSONL records are read as in the API, and card numbers are refused", async () => {
  const { as } = await shop();
  const attempt = { id: "t", state: "TRANSACTION_STATE_FAILED", invoiceId: "i", amount: 1, currency: "KWD" };
  const line = JSON.stringify({ ...attempt, createdAt: "2026-01-01T00:00:00Z" });
  const card = line.replace('"id"', '"note":"4111 1111 1111 1111","id"');
  const content = `${line}\r\n\n${card}\nnothing`;
  const owner = await as("owner");
  const { body } = await owner.send("/import/check", { name: "a.jsonl", content, kind: "transactions", map: "" });
  assert.match(body, /2 of 3 rows are invalid/);
  assert.match(body, /3<\/td><td[^>]*>note<\/td><td[^>]*>must not hold a card number/);
  assert.match(body, /4<\/td><td[^>]*>the row<\/td><td[^>]*>is not valid JSON/);
  assert.match(body, /KWD\u00a00\.001/);
});

test("an unreadable file or an incomplete form is refused with the reason", async () => {
  const { as, count } = await shop();
  const owner = await as("owner");
  const check = async (file: Sent) => (await owner.send("/import", file)).body;
  assert.match(await check({ content: Buffer.from(HEADER + row("in_é"), "latin1") }), /neither UTF-8 nor UTF-16 text/);
  assert.match(
    await check({ content: "number|state\n1|x\n", map: "" }),
    /no column name in the first line matches a field/,
  );
  assert.match(await check({ content: `${HEADER}in_1,"never ends` }), /line 2: a quoted text is not closed/);
  assert.match(await check({ content: `${HEADER}in_1,Joe "Doe"\n` }), /line 2: .* a quote is misplaced/);
  assert.match(
    await check({ content: `${HEADER}"${"x".repeat(300_000)}` }),
    /line 2: it is longer than 262144 characters/,
  );
  assert.match(
    await check({ name: "x.jsonl", content: "x".repeat(600_000), map: "" }),
    /line 1: it is longer than 262144/,
  );
  assert.match(await check({ map: "id=nothing" }), /the file has no column nothing/);
  assert.match(await check({ name: "" }), /Choose a file\./);
  assert.match(await check({ map: `<b>` }), /--map takes FIELD=COLUMN, separated by commas, not &quot;&lt;b&gt;&quot;/);
  const wrongKind = await owner.send("/import/wrong.csv", { kind: "people" });
  assert.equal(wrongKind.status, 422);
  assert.match(wrongKind.body, /Choose the kind of record: subscriptions, invoices, transactions\./);
  assert.equal(await count("invoices"), 0);
});

test("a file without rows is reported and not audited", async () => {
  const { as, imports } = await shop();
  const owner = await as("owner");
  for (const path of ["/import/check", "/import"])
    for (const content of ["", HEADER]) {
      const { body } = await owner.send(path, { content });
      assert.match(body, /The file has no rows\./);
      assert.doesNotMatch(body, /Stored \d|all valid/);
    }
  assert.deepEqual(await imports(), []);
});

test("viewers, other sites, too large files and other bodies are refused", async () => {
  const { as, count } = await shop();
  const [owner, viewer] = [await as("owner"), await as("viewer")];
  for (const path of ["/import", "/import/check", "/import/wrong.csv"]) {
    assert.equal((await viewer.send(path)).status, 403);
    assert.equal((await owner.send(path, {}, { "sec-fetch-site": "cross-site" })).status, 403);
    const large = await owner.send(path, {}, { "content-length": String(UPLOAD_BYTES_MAX + 1) });
    assert.equal(large.status, 413);
    assert.match(large.body, /The file is larger than 512 MiB\. Nothing was stored\./);
    const other = await owner.send(path, {}, { "content-type": "application/x-www-form-urlencoded" });
    assert.equal(other.status, 415);
    const unbounded = await owner.send(path, {}, { "transfer-encoding": "chunked" });
    assert.equal(unbounded.status, 411);
  }
  assert.equal(await count("invoices"), 0);
  assert.doesNotMatch((await viewer.get("/import")).body, /type="file"/);
  assert.match((await owner.get("/import")).body, /type="file"/);
  assert.equal((await owner.get("/import/check")).headers.location, "/import");
});

test("a form that ends anywhere gets a response with the reason", async () => {
  const { as, imports } = await shop();
  const owner = await as("owner");
  const { type, bytes } = await bodyOf({});
  const said = new Set<string>();
  const fileEnds = bytes.lastIndexOf("\r\n--");
  for (let length = 0; length <= fileEnds; length += 7) {
    const headers = { cookie: owner.cookie, "content-type": type, "content-length": length };
    const { request, answered } = open("/import", headers);
    request.end(bytes.subarray(0, length));
    const { status, body } = await answered;
    const reason =
      /The form contains no file|The form is malformed|The connection ended|did not arrive completely/.exec(body);
    assert.ok(reason, `${status} with ${length} bytes: ${body}`);
    said.add(reason[0]);
  }
  assert.ok(said.has("did not arrive completely"));
  assert.deepEqual(await imports(), []);
});

test("a slow upload is not interrupted, and blocks other uploads of the merchant", async () => {
  const { as, count } = await shop();
  const owner = await as("owner");
  const { type, bytes } = await bodyOf({ content: HEADER + rows(0, 500) });
  const { requestTimeout, headersTimeout } = at.http.server;
  Object.assign(at.http.server, { requestTimeout: 500, headersTimeout: 500 });
  const { request, answered } = open("/import", {
    cookie: owner.cookie,
    "content-type": type,
    "content-length": bytes.length,
  });
  const PIECES = 10;
  const size = Math.ceil(bytes.length / PIECES);
  for (let piece = 0; piece < PIECES; piece++) {
    request.write(bytes.subarray(piece * size, (piece + 1) * size));
    await sleep(300);
    if (piece === 1) assert.equal((await owner.send("/import")).status, 409);
  }
  request.end();
  const { status, body } = await answered;
  Object.assign(at.http.server, { requestTimeout, headersTimeout });
  assert.equal(status, 200);
  assert.match(body, /Stored 500 rows/);
  assert.equal(await count("invoices"), 500);
  assert.equal((await owner.send("/import")).status, 200, "the next one may come");
});

test("rows before a lost connection are stored, and the audit log marks the file as incomplete", async () => {
  const { as, count, imports } = await shop();
  const owner = await as("owner");
  const { type, bytes } = await bodyOf({ content: HEADER + rows(0, 2_000) });
  const { request, answered } = open("/import", {
    cookie: owner.cookie,
    "content-type": type,
    "content-length": bytes.length,
  });
  request.write(bytes.subarray(0, bytes.length / 2));
  while ((await count("invoices")) < 600) await sleep(20);
  request.destroy();
  await assert.rejects(answered);
  while ((await imports()).length === 0) await sleep(20);
  const [entry] = await imports();
  assert.deepEqual([entry?.details.rows, entry?.details["whole file"]], [await count("invoices"), "no"]);
  const { body } = await owner.send("/import", { content: HEADER + rows(0, 2_000) });
  const [, stored, known] = /Stored ([\d,]+) rows\. Skipped ([\d,]+)/
    .exec(body)!
    .map((n) => Number(n.replaceAll(",", "")));
  assert.deepEqual([known, stored], [entry?.details.rows, 2_000 - Number(entry?.details.rows)]);
});
