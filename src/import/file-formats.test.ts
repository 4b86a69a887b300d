import assert from "node:assert/strict";
import { test } from "node:test";
import { DEFAULT_CSV_FORMAT, parseCsvFormat } from "../domain/csv-format.ts";
import { duplicatesText, importFile } from "./import-file.ts";
import { kind, splitIntoPieces, subscription, toCsv, toJsonl } from "./import-files.fixture.ts";
import { HISTORY_KIND_BY_NAME } from "./record-kinds.ts";

test("a JSON list and a request body are read like JSONL, and errors count records", async () => {
  const records = [subscription("a"), subscription("b", { amount: -1 }), subscription("c")];
  const expected = await importFile(
    { name: "x.jsonl", bytes: splitIntoPieces(toJsonl(records)) },
    kind,
    DEFAULT_CSV_FORMAT,
  );
  assert.deepEqual([expected.rows, expected.wrong[0]!.line, expected.broken], [3, 2, null]);
  for (const text of [JSON.stringify(records), JSON.stringify({ subscriptions: records }, null, 2)])
    for (const [name, size] of [
      ["x.json", 1],
      ["x", 65_536],
    ] as const)
      assert.deepEqual(
        await importFile({ name, bytes: splitIntoPieces(`\ufeff${text}`, size) }, kind, DEFAULT_CSV_FORMAT),
        {
          ...expected,
          place: "record",
        },
      );
  const lines = await importFile(
    { name: "x.json", bytes: splitIntoPieces(toJsonl(records)) },
    kind,
    DEFAULT_CSV_FORMAT,
  );
  assert.deepEqual(lines, expected);
  assert.equal((await importFile({ name: "x.json", bytes: splitIntoPieces("[]") }, kind, DEFAULT_CSV_FORMAT)).rows, 0);
});

test("an error describes the expected list when a JSON file holds none, and the place when it is cut off", async () => {
  const refusalOf = async (name: string, text: string) =>
    (await importFile({ name, bytes: splitIntoPieces(text) }, kind, DEFAULT_CSV_FORMAT)).broken;
  const expected =
    /^it is not a list of subscriptions: a \.json file must hold \[\{…\}, \{…\}\] or \{"subscriptions": /;
  for (const [name, text] of [
    ["x.json", "id,state"],
    ["x.json", '{\n  "id": "a"\n}\n'],
    ["x.csv", '{"data": []}'],
  ] as const)
    assert.match((await refusalOf(name, text))!, expected, text);
  assert.equal(
    await refusalOf("x.json", `[\n${JSON.stringify(subscription("a"))},\n`),
    "line 3: the list of subscriptions is not closed",
  );
  const options = parseCsvFormat({ dates: "ymd" }, kind.fields, []);
  const { broken } = await importFile({ name: "x.json", bytes: splitIntoPieces("[]") }, kind, options);
  assert.match(broken!, /are for CSV, and this file is JSON/);
});

test("words such as NULL are read as empty cells and counted, and a required field is then missing", async () => {
  const attempts = HISTORY_KIND_BY_NAME.transactions.recordKind;
  const words = ["NULL", "\\N", "N/A", "#N/A", "None", "nan", "nil", "undefined", "null"];
  const heading = "id,state,invoiceId,amount,currency,createdAt,customerId,subscriptionId,cardCountry";
  const row = (id: string, word: string) => `${id},PAID,in_1,4900,EUR,2026-01-01,${word},"${word}",NA`;
  const importRows = (...rows: string[]) =>
    importFile({ name: "x.csv", bytes: splitIntoPieces([heading, ...rows].join("\n")) }, attempts, DEFAULT_CSV_FORMAT);
  const { first, wrong, absent } = await importRows(...words.map((word, n) => row(`t_${n}`, word)));
  assert.deepEqual(wrong, []);
  assert.deepEqual(
    first.map(({ customerId, subscriptionId, cardCountry }) => [customerId, subscriptionId, cardCountry]),
    words.map(() => [undefined, undefined, "NA"]),
  );
  assert.deepEqual(absent, new Map(words.map((word) => [word, 2])));
  const missing = await importRows(row("NULL", "c"), row("t", "nilly"));
  assert.deepEqual(missing.wrong, [{ line: 2, faults: [{ column: "id", says: "is required" }] }]);
  assert.equal(missing.first[0]!.customerId, "nilly");
});

test("a word such as None is a state when the options say so", async () => {
  const csvFormat = parseCsvFormat({ states: "None=ACTIVE" }, kind.fields, ["ACTIVE"]);
  const bytes = splitIntoPieces(toCsv([subscription("a", { state: "None" })]));
  const { first, wrong, absent } = await importFile({ name: "x.csv", bytes }, kind, csvFormat);
  assert.deepEqual([first[0]!.state, wrong, absent.size], ["ACTIVE", [], 0]);
});

test("rows that repeat an id are counted, and the first one is named", async () => {
  const records = Array.from({ length: 450 }, (_, n) => subscription(`s_${n < 210 ? n : n - 210}`));
  for (const [name, text, line] of [
    ["x.csv", toCsv(records), 212],
    ["x.jsonl", toJsonl(records), 211],
    ["x.json", JSON.stringify(records), 211],
  ] as const) {
    const { rows, copies } = await importFile({ name, bytes: splitIntoPieces(text) }, kind, DEFAULT_CSV_FORMAT);
    assert.deepEqual([rows, copies], [450, { rows: 210, line }], name);
  }
  assert.equal(
    duplicatesText({ rows: 2, copies: { rows: 1, line: 3 }, place: "line" }),
    "2 rows, 1 record: line 3 repeats the id of an earlier record",
  );
});

test("an id that a spreadsheet has rounded is refused, along with other faults of the row", async () => {
  const rows = [
    subscription("1.23457E+15"),
    subscription('"1,23457E+15"', { customerId: "2E+20", amount: -1 }),
    subscription("1.5E+3", { planId: "1e+15" }), // no spreadsheet writes these
  ].map((record) => ({ planId: "", ...record }));
  const { wrong, first } = await importFile(
    { name: "x.csv", bytes: splitIntoPieces(toCsv(rows)) },
    kind,
    DEFAULT_CSV_FORMAT,
  );
  assert.deepEqual(
    wrong.map(({ line, faults }) => [line, ...faults.map(({ column, says }) => `${column} ${says.slice(0, 28)}`)]),
    [
      [2, "id was rounded by a spreadsheet"],
      [
        3,
        "id was rounded by a spreadsheet",
        "customerId was rounded by a spreadsheet",
        "amount must be a whole number of mi",
      ],
    ],
  );
  assert.deepEqual(
    first.map(({ id }) => id),
    ["1.5E+3"],
  );
});

test("a text that is written as a formula is read as that text", async () => {
  const cells = ['="00123"', '"=""00124"""', '="a,""b"""', "00126", '"x="'];
  for (const size of [1, 2, 65_536]) {
    const text = toCsv(cells.map((id) => subscription(id)));
    const { first, wrong, broken } = await importFile(
      { name: "x.csv", bytes: splitIntoPieces(text, size) },
      kind,
      DEFAULT_CSV_FORMAT,
    );
    assert.deepEqual([wrong, broken], [[], null]);
    assert.deepEqual(
      first.map(({ id }) => id),
      ["00123", "00124", 'a,"b"', "00126", "x="],
    );
  }
});
