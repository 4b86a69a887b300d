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

/** Returns whether the notice for a file of invoices is good or bad, and its text. */
function resultText(taken: Partial<FileImportResult>, stored: UploadedFile["stored"] = null) {
  const { summary } = buildImportResult(
    { kind: "invoices", file: "i.csv", taken: { ...COMPLETE_FILE, ...taken }, stored },
    "UTC",
  );
  const [, tone, words] = /class="notice (\w+)"[^>]*>([^<]*)</.exec(htmlText(summary))!;
  return [tone, words];
}

test("a check says whether the file can be stored completely, and why not", () => {
  assert.deepEqual(resultText({}), ["good", "700 rows, all valid. Nothing was stored yet."]);
  assert.deepEqual(resultText({ rows: 0 }), ["warn", "The file has no rows."]);
  assert.deepEqual(resultText({ wrong: [WRONG] }), ["bad", "1 of 700 rows is invalid. Nothing was stored."]);
  assert.deepEqual(resultText({ wrong: [WRONG, WRONG], broken: "line 900: it is torn" }), [
    "bad",
    "2 of 700 rows are invalid. The file cannot be read to its end: line 900: it is torn. Nothing was stored.",
  ]);
  assert.deepEqual(resultText({ rows: 0, broken: "no column holds a field" }), [
    "bad",
    "The file cannot be read: no column holds a field. Nothing was stored.",
  ]);
});

test("columns without a field are listed if they have a name", () => {
  const ignoredColumns = (...columns: string[]) => {
    const header = [["id", "id"] as const, ...columns.map((column) => [column, undefined] as const)];
    const taken: FileImportResult = { ...COMPLETE_FILE, header };
    const { details } = buildImportResult({ kind: "invoices", file: "i.csv", taken, stored: null }, "UTC");
    return /no matching field\)<\/dt>\s*<dd>([^<]*)</.exec(htmlText(html`${details}`))?.[1];
  };
  assert.equal(ignoredColumns("note", "", "fee"), "note, fee");
  assert.equal(ignoredColumns(""), undefined);
});

test("unused state names are listed when there are any", () => {
  const said = (unmet: string[]) => {
    const taken: FileImportResult = { ...COMPLETE_FILE, unmet };
    const { summary } = buildImportResult({ kind: "invoices", file: "i.csv", taken, stored: null }, "UTC");
    return /no row has<\/dt>\s*<dd>([^<]*)</.exec(htmlText(summary))?.[1];
  };
  assert.deepEqual([said(["OFFEN", "BEZHALT"]), said([])], ["OFFEN, BEZHALT", undefined]);
});

test("duplicates and cells read as empty are listed when there are any", () => {
  const told = (more: Partial<FileImportResult>) => {
    const { summary } = buildImportResult(
      { kind: "invoices", file: "i.csv", taken: { ...COMPLETE_FILE, ...more }, stored: null },
      "UTC",
    );
    return ["Duplicates", "Read as empty"].map(
      (name) => new RegExp(`${name}</dt>\\s*<dd>([^<]*)<`).exec(htmlText(summary))?.[1],
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

test("invalid records of a JSON list are named by their position", () => {
  const { details } = buildImportResult(
    {
      kind: "invoices",
      file: "i.json",
      taken: { ...COMPLETE_FILE, place: "record", wrong: [WRONG, { ...WRONG, line: 7 }] },
      stored: null,
    },
    "UTC",
  );
  assert.match(htmlText(html`${details}`), /Record<[\s\S]*2 rows: records 402, 7/);
});

test("an import says how much it stored, and what to do when that is not everything", () => {
  const skipped = (known: number) => `Skipped ${known}: the same or a newer version is already stored.`;
  const advice = "Fix the file and upload it again in full";
  const unchanged = `${advice}; rows already stored do not change.`;
  assert.deepEqual(resultText({}, { rows: 700, known: 1 }), ["good", `Stored 699 rows. ${skipped(1)}`]);
  assert.deepEqual(resultText({ rows: 0 }, { rows: 0, known: 0 }), ["warn", "The file has no rows."]);
  assert.deepEqual(resultText({ wrong: [WRONG] }, { rows: 0, known: 0 }), [
    "bad",
    `1 of 700 rows is invalid. Nothing was stored. ${advice}.`,
  ]);
  assert.deepEqual(resultText({ wrong: [WRONG] }, { rows: 400, known: 350 }), [
    "bad",
    `1 of 700 rows is invalid. Stored 50 rows, up to the first invalid row. ${skipped(350)} ${unchanged}`,
  ]);
  assert.deepEqual(resultText({ wrong: [WRONG] }, { rows: 400, known: 400 }), [
    "bad",
    `1 of 700 rows is invalid. Stored 0 rows. ${skipped(400)} ${unchanged}`,
  ]);
  assert.deepEqual(resultText({ broken: "line 900: it is torn" }, { rows: 700, known: 0 }), [
    "bad",
    `The file cannot be read to its end: line 900: it is torn. Stored 700 rows. ${unchanged}`,
  ]);
});
