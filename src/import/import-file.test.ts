import assert from "node:assert/strict";
import { test } from "node:test";
import { DEFAULT_CSV_FORMAT, parseCsvFormat } from "../domain/csv-format.ts";
import { TRANSACTION_STATES } from "../domain/transaction.ts";
import { groupedFaultText, groupFaults, INVALID_ROWS_MAX, importFile } from "./import-file.ts";
import { kind, splitIntoPieces, subscription, toCsv, toJsonl } from "./import-files.fixture.ts";
import { HISTORY_KIND_BY_NAME } from "./record-kinds.ts";

test("chunks can end within a character, and a byte order mark is not part of the first name", async () => {
  const records = Array.from({ length: 20 }, (_, n) => subscription(`s_${n}`)); // longer than the sample that detects the encoding
  for (const [name, text] of [
    ["x.csv", toCsv(records)],
    ["x.JSONL", toJsonl(records)],
  ] as const) {
    const { first, ...rest } = await importFile(
      { name, bytes: splitIntoPieces(`\ufeff${text}`, 1) },
      kind,
      DEFAULT_CSV_FORMAT,
    );
    assert.deepEqual(
      { rows: rest.rows, wrong: rest.wrong, broken: rest.broken },
      { rows: 20, wrong: [], broken: null },
    );
    assert.deepEqual(
      first.map(({ id, customerId, state }) => [id, customerId, state]),
      records.map(({ id }) => [id, "Zoë", "ACTIVE"]),
    );
  }
});

test("a text in UTF-16 is read like one in UTF-8", async () => {
  const text = toCsv([subscription("a")]).replace(/^(?=\w)/gm, "№,"); // a first letter that is not ASCII does not reveal the encoding
  const importBytes = (bytes: Buffer) =>
    importFile({ name: "x.csv", bytes: splitIntoPieces(bytes, 1) }, kind, DEFAULT_CSV_FORMAT);
  const expected = await importBytes(Buffer.from(text));
  assert.equal(expected.first[0]!.customerId, "Zoë");
  const littleEndian = (decoded: string) => Buffer.from(decoded, "utf16le");
  const [marked, unmarked] = [littleEndian(`\ufeff${text}`), littleEndian(text)];
  for (const bytes of [marked, unmarked, Buffer.from(marked).swap16(), Buffer.from(unmarked).swap16()])
    assert.deepEqual(await importBytes(bytes), expected);
  assert.match((await importBytes(unmarked.subarray(1))).broken!, /^the file is neither UTF-8 nor UTF-16 text/);
});

test("a zero byte in UTF-8 does not change the encoding, and its row is invalid", async () => {
  const text = toCsv([subscription("a\0"), subscription("b")]);
  const { first, wrong, broken } = await importFile(
    { name: "x.csv", bytes: splitIntoPieces(text) },
    kind,
    DEFAULT_CSV_FORMAT,
  );
  assert.deepEqual([first.map(({ id }) => id), wrong.map(({ line }) => line), broken], [["b"], [2], null]);
});

test("semicolons and tabs are read as delimiters, and empty rows are ignored", async () => {
  for (const sign of [";", "\t"]) {
    const text = `\r\n${toCsv([subscription("a", { customerId: '"Zoë, and sons"' }), subscription("b")])}`;
    const other = text.replaceAll(",", sign).replace(`Zoë${sign}`, "Zoë,");
    const bytes = splitIntoPieces(`\ufeff${other}\r\n${sign.repeat(5)}\r\n`, 7);
    const { first, rows, wrong, broken } = await importFile({ name: "x.csv", bytes }, kind, DEFAULT_CSV_FORMAT);
    assert.deepEqual({ rows, wrong, broken }, { rows: 2, wrong: [], broken: null }, JSON.stringify(sign));
    assert.deepEqual(
      first.map(({ customerId }) => customerId),
      ["Zoë, and sons", "Zoë"],
    );
  }
});

test("a first line that tells Excel the delimiter is no header, and counts as a line", async () => {
  const rows = [subscription("a"), subscription("b", { amount: -1 })];
  const text = `sep=;\r\n${toCsv(rows).replaceAll(",", ";")}`;
  for (const size of [1, 7, 65_536]) {
    const { first, wrong, broken } = await importFile(
      { name: "x.csv", bytes: splitIntoPieces(text, size) },
      kind,
      DEFAULT_CSV_FORMAT,
    );
    assert.deepEqual([first.map(({ id }) => id), wrong.map(({ line }) => line), broken], [["a"], [4], null]);
  }
});

test("a currency sign that contradicts the currency of the row is named in the error", async () => {
  const csvFormat = parseCsvFormat({ decimals: "comma" }, kind.fields, []);
  const rows = ['"1.249,00 €"', '"$49,00"'].map((amount, n) => subscription(`s_${n}`, { amount }));
  const { first, wrong } = await importFile({ name: "x.csv", bytes: splitIntoPieces(toCsv(rows)) }, kind, csvFormat);
  assert.deepEqual(
    first.map(({ amount }) => amount),
    [124900],
  );
  assert.deepEqual(wrong, [
    { line: 3, faults: [{ column: "amount", says: "has the sign $, but its currency is EUR" }] },
  ]);
});

test("an invalid row is reported with its first line, after any empty rows and quoted line breaks", async () => {
  const wrong = { amount: -1 };
  const quoted = subscription("b", { customerId: '"Zoë\nand\nsons"', ...wrong });
  const [heading, ...rows] = toCsv([subscription("a"), quoted, subscription("c", wrong)]).split("\r\n");
  const text = ["", heading, rows[0], ",,,,,", "", ",,,,,", rows[1], "", rows[2], ""].join("\n");
  for (const sign of ["\n", "\r\n", "\r"]) {
    const taken = await importFile(
      { name: "x.csv", bytes: splitIntoPieces(text.replaceAll("\n", sign), 7) },
      kind,
      DEFAULT_CSV_FORMAT,
    );
    assert.deepEqual(
      taken.wrong.map(({ line }) => line),
      [7, 11],
      JSON.stringify(sign),
    );
  }
});

test("an empty row can have any number of columns, and another row with a wrong number ends the file", async () => {
  const importRows = (rows: string) =>
    importFile(
      { name: "x.csv", bytes: splitIntoPieces(`${toCsv([subscription("a")])}\r\n${rows}`) },
      kind,
      DEFAULT_CSV_FORMAT,
    );
  assert.deepEqual({ ...(await importRows(",,\r\n,\r\n,,,,,,,,\r\n")), header: null, first: [] }, EXPECTED_RESULT);
  const shorter = await importRows(",\r\nb,SUBSCRIPTION_STATE_ACTIVE\r\n");
  assert.equal(shorter.broken, "line 4: its columns do not match the first line");
  const longer = await importRows("b,SUBSCRIPTION_STATE_ACTIVE,c,49,00,EUR,2026-01-01\r\n");
  assert.equal(longer.broken, "line 3: its columns do not match the first line");
});

const EXPECTED_RESULT = {
  header: null,
  place: "line",
  rows: 1,
  first: [],
  wrong: [],
  unmet: [],
  absent: new Map(),
  copies: { rows: 0, line: 0 },
  broken: null,
};

test("unused words of --states are reported, but not when the file cannot be read", async () => {
  const csvFormat = parseCsvFormat({ states: "Live=ACTIVE,Activ=ACTIVE" }, kind.fields, ["ACTIVE"]);
  const unusedWords = async (states: string[], suffix = "") => {
    const text = toCsv(states.map((state) => subscription("a", { state })));
    return (await importFile({ name: "x.csv", bytes: splitIntoPieces(text + suffix) }, kind, csvFormat)).unmet;
  };
  assert.deepEqual(await unusedWords([" live "]), ["ACTIV"]);
  assert.deepEqual(await unusedWords(["live", "activ", "live"]), []);
  assert.deepEqual(await unusedWords(["live"], '\r\n"'), []);
});

test("an error names the option that would make the value readable, and each fault is listed once", async () => {
  const all = Array.from({ length: 300 }, (_, n) => `s_${n},active,c,${n === 200 ? "x" : "49.00"},EUR,25.11.2026`);
  const faultsWith = async (options: object, ...rows: string[]) => {
    const text = ["id,state,customerId,Amount,currency,Created At", ...(rows.length > 0 ? rows : all)].join("\n");
    const { wrong } = await importFile(
      { name: "x.csv", bytes: splitIntoPieces(text) },
      kind,
      parseCsvFormat(options, kind.fields, TRANSACTION_STATES),
    );
    return groupFaults(wrong).map((fault) => `${fault.column} ${groupedFaultText(fault)}`);
  };
  const [amount, createdAt, ...rest] = await faultsWith({});
  assert.match(
    amount!,
    /^Amount must be a whole number of minor units from 0, such as 4900 for EUR 49\.00; .* use --decimals point or comma \(300 rows: lines 2, 3, 4 and so on\)$/,
  );
  assert.match(createdAt!, /^Created At must be an RFC 3339 .* use --dates ymd, dmy or mdy \(300 rows: /);
  assert.deepEqual(rest, []);
  assert.deepEqual(await faultsWith({ dates: "dmy", decimals: "point" }, "s,active,c,,EUR,"), [
    "Amount is required",
    "Created At is required",
  ]);
  assert.deepEqual(await faultsWith({ dates: "mdy", decimals: "point" }), [
    "Created At must be a real date from 1970 to 2199, such as 01/31/2026 12:00 (--dates mdy) (300 rows: lines 2, 3, 4 and so on)",
    "Amount must be an amount from 0, such as 1,234.50 (--decimals point), with no sign other than its currency's, and no more decimals than its currency has; in a currency with three, 1,234 is ambiguous",
  ]);
});

test("the most frequent fault comes first, and a fault of a single row has no lines", () => {
  const fault = (column: string) => ({ column, says: "is wrong" });
  const wrong = [2, 3, 4, 5].map((line) => ({ line, faults: [fault("b"), ...(line === 2 ? [fault("c")] : [])] }));
  const grouped = groupFaults([{ line: 1, faults: [fault("a")] }, ...wrong, { line: 6, faults: [fault("c")] }]);
  assert.deepEqual(
    grouped.map((each) => `${each.column} ${groupedFaultText(each)}`),
    ["b is wrong (4 rows: lines 2, 3, 4 and so on)", "c is wrong (2 rows: lines 2, 6)", "a is wrong"],
  );
});

test("an error in JSONL states the API's rule and names no option", async () => {
  const text = toJsonl([subscription("a", { amount: 49.5 })]);
  const { wrong } = await importFile({ name: "x.jsonl", bytes: splitIntoPieces(text) }, kind, DEFAULT_CSV_FORMAT);
  assert.match(wrong[0]!.faults[0]!.says, /^must be an integer from 0 to \d+, written with digits only$/);
});

test("batches are stored up to the first with an invalid row, and later rows are only checked", async () => {
  const records = Array.from({ length: 1_000 }, (_, n) =>
    subscription(`s_${n}`, n % 500 === 450 ? { amount: -1 } : {}),
  );
  const stored: number[] = [];
  const taken = await importFile(
    { name: "x.csv", bytes: splitIntoPieces(toCsv(records)) },
    kind,
    DEFAULT_CSV_FORMAT,
    async (batch) => {
      stored.push(batch.length);
    },
  );
  assert.deepEqual(stored, [200, 200]);
  assert.deepEqual([taken.rows, taken.wrong.map(({ line }) => line)], [1_000, [452, 952]]);
});

test("invalid rows are reported by the columns of the file, up to a maximum", async () => {
  const csvFormat = parseCsvFormat({ map: "amount=cents" }, kind.fields, TRANSACTION_STATES);
  const head = "id,state,customerId,cents,currency,createdAt\n";
  const row = "s,SUBSCRIPTION_STATE_ACTIVE,c,0.5,EUR,2026-01-01T00:00:00Z\n";
  const { wrong, rows } = await importFile(
    { name: "x", bytes: splitIntoPieces(head + row.repeat(INVALID_ROWS_MAX + 500)) },
    kind,
    csvFormat,
  );
  assert.deepEqual(
    [rows, wrong.length, wrong[0]?.faults[0]?.column],
    [INVALID_ROWS_MAX + 500, INVALID_ROWS_MAX, "cents"],
  );
});

test("other work runs between batches, even if the whole file is available at once", async () => {
  let turns = 0;
  const ticking = setInterval(() => turns++, 0);
  const records = Array.from({ length: 4_000 }, (_, n) => subscription(`s_${n}`));
  await importFile({ name: "x.jsonl", bytes: splitIntoPieces(toJsonl(records)) }, kind, DEFAULT_CSV_FORMAT);
  clearInterval(ticking);
  assert.ok(turns >= 5, `${turns} turns in 20 batches`);
});

test("csvFormat a large chunk yields to other work, and a file of commas is refused at its first line", async () => {
  let turns = 0;
  const turn = () => {
    turns++;
    ticking = setImmediate(turn);
  };
  let ticking = setImmediate(turn);
  const wide = `${toCsv([subscription("a")])}\r\n${`b${",".repeat(500)}\r\n`.repeat(1_000)}`;
  const { broken } = await importFile(
    { name: "x.csv", bytes: splitIntoPieces(wide, wide.length) },
    kind,
    DEFAULT_CSV_FORMAT,
  );
  clearImmediate(ticking);
  assert.equal(broken, null);
  assert.ok(turns >= wide.length / 10_000, `${turns} turns in ${wide.length} characters`);
  const commas = { name: "x.csv", bytes: splitIntoPieces(",".repeat(1_000_000)) };
  assert.match(
    (await importFile(commas, kind, DEFAULT_CSV_FORMAT)).broken!,
    /^line 1: it has more than 1,000 columns; check/,
  );
});

test("a file without line breaks is refused without being held in memory", async () => {
  let read = 0;
  async function* endless() {
    for (;;) {
      read++;
      yield Buffer.alloc(65_536, "x");
    }
  }
  for (const name of ["x.csv", "x.jsonl"]) {
    read = 0;
    const { broken } = await importFile({ name, bytes: endless() }, kind, DEFAULT_CSV_FORMAT);
    assert.match(broken!, /^line 1: it is longer than 262144 characters/);
    assert.ok(read < 20, `${read} pieces`);
  }
});

test("a row from the future is invalid, and so is one whose amount due exceeds the amount", async () => {
  const rows = [
    "id,state,customerId,amount,amountDue,currency,createdAt,updatedAt",
    "in_1,UNPAID,c,4900,,EUR,2026-01-01T00:00:00Z,2026-01-02T01:00:00Z",
    "in_2,UNPAID,c,4900,4901,EUR,2026-01-01T00:00:00Z,",
    "in_3,UNPAID,c,4900,,EUR,2026-01-03T00:00:00Z,2026-01-04T00:00:00Z",
  ];
  const clock = { now: new Date("2026-01-02T00:58:00Z"), skewMs: 5 * 60_000 };
  const file = { name: "x.csv", bytes: splitIntoPieces(rows.join("\n")) };
  const { wrong } = await importFile(
    file,
    HISTORY_KIND_BY_NAME.invoices.recordKind,
    DEFAULT_CSV_FORMAT,
    undefined,
    clock,
  );
  assert.deepEqual(
    wrong.map(({ line, faults }) => [line, ...faults.map(({ column, says }) => `${column} ${says}`)]),
    [
      [3, "amountDue must be at most amount"],
      [4, "createdAt is 23 hours in the future; send UTC", "updatedAt is 47 hours in the future; send UTC"],
    ],
  );
});
