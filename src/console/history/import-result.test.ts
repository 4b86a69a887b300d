import assert from "node:assert/strict";
import { test } from "node:test";
import type { FileImportResult, InvalidRowReport } from "../../import/import-file.ts";
import { html, htmlText } from "../html.ts";
import { buildImportResult, type UploadedFile } from "./import-result.ts";

const COMPLETE_FILE: FileImportResult = {
  header: null,
  place: "line",
  rows: 700,
  first: [],
  wrong: [],
  unmet: [],
  absent: new Map(),
  copies: { rows: 0, line: 0 },
  broken: null,
};
const WRONG: InvalidRowReport = { line: 402, faults: [{ column: "total", says: "must be an integer" }] };

/** What is said of a file of invoices: good or bad, and the words. */
function resultText(taken: Partial<FileImportResult>, stored: UploadedFile["stored"] = null) {
  const { short } = buildImportResult(
    { kind: "invoices", file: "i.csv", taken: { ...COMPLETE_FILE, ...taken }, stored },
    "UTC",
  );
  const [, tone, words] = /class="notice (\w+)"[^>]*>([^<]*)</.exec(htmlText(short))!;
  return [tone, words];
}

test("a check says whether all can be stored, and what keeps it from that", () => {
  assert.deepEqual(resultText({}), ["good", "700 rows, and nothing is wrong with them. Nothing was stored yet."]);
  assert.deepEqual(resultText({ rows: 0 }), ["warn", "There are no rows in the file."]);
  assert.deepEqual(resultText({ wrong: [WRONG] }), ["bad", "1 of 700 rows is wrong. Nothing was stored."]);
  assert.deepEqual(resultText({ wrong: [WRONG, WRONG], broken: "line 900: it is torn" }), [
    "bad",
    "2 of 700 rows are wrong. It can&#39;t be read to its end: line 900: it is torn. Nothing was stored.",
  ]);
  assert.deepEqual(resultText({ rows: 0, broken: "no column holds a field" }), [
    "bad",
    "It can&#39;t be read: no column holds a field. Nothing was stored.",
  ]);
});

test("columns that hold no field are named, and those without a name are not", () => {
  const passedOver = (...columns: string[]) => {
    const header = [["id", "id"] as const, ...columns.map((column) => [column, undefined] as const)];
    const taken: FileImportResult = { ...COMPLETE_FILE, header };
    const { long } = buildImportResult({ kind: "invoices", file: "i.csv", taken, stored: null }, "UTC");
    return /passed over<\/dt>\s*<dd>([^<]*)</.exec(htmlText(html`${long}`))?.[1];
  };
  assert.equal(passedOver("note", "", "fee"), "note, fee");
  assert.equal(passedOver(""), undefined);
});

test("words for states that no row has are named, and nothing is where there are none", () => {
  const said = (unmet: string[]) => {
    const taken: FileImportResult = { ...COMPLETE_FILE, unmet };
    const { short } = buildImportResult({ kind: "invoices", file: "i.csv", taken, stored: null }, "UTC");
    return /no row has<\/dt>\s*<dd>([^<]*)</.exec(htmlText(short))?.[1];
  };
  assert.deepEqual([said(["OFFEN", "BEZHALT"]), said([])], ["OFFEN, BEZHALT", undefined]);
});

test("copies of a record, and words that were read as empty cells, are told of where there are any", () => {
  const told = (more: Partial<FileImportResult>) => {
    const { short } = buildImportResult(
      { kind: "invoices", file: "i.csv", taken: { ...COMPLETE_FILE, ...more }, stored: null },
      "UTC",
    );
    return ["Copies", "Read as empty"].map(
      (name) => new RegExp(`${name}</dt>\\s*<dd>([^<]*)<`).exec(htmlText(short))?.[1],
    );
  };
  const absent = new Map([
    ["N/A", 1],
    ["NULL", 1_200],
  ]);
  assert.deepEqual(told({ copies: { rows: 2, line: 9 }, absent }), [
    "700 rows, 698 records: line 9 is the first of 2 rows that repeat the id of an earlier record",
    "1,201 cells (NULL 1,200, N/A 1)",
  ]);
  assert.deepEqual(told({}), [undefined, undefined]);
});

test("wrong records of a JSON list are named by their place in it", () => {
  const { long } = buildImportResult(
    {
      kind: "invoices",
      file: "i.json",
      taken: { ...COMPLETE_FILE, place: "record", wrong: [WRONG, { ...WRONG, line: 7 }] },
      stored: null,
    },
    "UTC",
  );
  assert.match(htmlText(html`${long}`), /Record<[\s\S]*2 rows: records 402, 7/);
});

test("an import says how much of the file is stored, and that the whole of it is to be sent again where that is not all", () => {
  const newer = (known: string) => `Of ${known} the same or a newer copy was there, and stays.`;
  const mend = "Mend the file and send all of it again";
  const changed = `${mend}: what is stored already is not changed by that.`;
  assert.deepEqual(resultText({}, { rows: 700, known: 1 }), ["good", `699 rows stored. ${newer("1 row")}`]);
  assert.deepEqual(resultText({ rows: 0 }, { rows: 0, known: 0 }), ["warn", "There are no rows in the file."]);
  assert.deepEqual(resultText({ wrong: [WRONG] }, { rows: 0, known: 0 }), [
    "bad",
    `1 of 700 rows is wrong. Nothing was stored. ${mend}.`,
  ]);
  assert.deepEqual(resultText({ wrong: [WRONG] }, { rows: 400, known: 350 }), [
    "bad",
    `1 of 700 rows is wrong. 50 rows stored, all of them before the first that is wrong, and none after. ${newer("350 rows")} ${changed}`,
  ]);
  assert.deepEqual(resultText({ wrong: [WRONG] }, { rows: 400, known: 400 }), [
    "bad",
    `1 of 700 rows is wrong. 0 rows stored. ${newer("400 rows")} ${changed}`,
  ]);
  assert.deepEqual(resultText({ broken: "line 900: it is torn" }, { rows: 700, known: 0 }), [
    "bad",
    `It can&#39;t be read to its end: line 900: it is torn. 700 rows stored. ${changed}`,
  ]);
});
