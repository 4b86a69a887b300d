import { formatColumnList, type HeaderMapping } from "../../domain/csv-format.ts";
import {
  absentCellsText,
  duplicatesText,
  type FileImportResult,
  groupedFaultText,
  groupFaults,
  INVALID_ROWS_MAX,
  ignoredColumns,
  isComplete,
} from "../../import/import-file.ts";
import { HISTORY_KIND_BY_NAME, type KindName } from "../../import/record-kinds.ts";
import type { RecordKind } from "../../ingest/parse-batch.ts";
import { type Html, type HtmlPart, html } from "../html.ts";
import { formNotice } from "../show/form-fields.ts";
import { formatCount, formatMoney } from "../show/number-format.ts";
import { stateLabel } from "../show/state-labels.ts";
import { factList, table } from "../show/table.ts";
import { timeElement } from "../show/time-format.ts";
import type { ImportResult } from "./import-page.ts";

export interface UploadedFile {
  kind: KindName;
  file: string;
  taken: FileImportResult;
  stored: { rows: number; known: number } | null;
}

const SHOWN_ERRORS_MAX = 20;

const optionalFact = (name: string, words: string | null) => (words === null ? null : ([name, words] as const));

export function buildImportResult({ kind, file, taken, stored }: UploadedFile, zone: string): ImportResult {
  const { header, rows, first, wrong, unmet } = taken;
  const record = HISTORY_KIND_BY_NAME[kind].recordKind;
  return {
    summary: html`${stored ? storedNotice(taken, stored) : checkedNotice(taken)}
${factList([
  ["File", html`<span class="id">${file}</span>`],
  ["Kind", kind],
  ["Rows", formatCount(rows)],
  ["Invalid rows", formatErrorCount(taken)],
  unmet.length === 0 ? null : ["State names that no row has", unmet.join(", ")],
  optionalFact("Read as empty", absentCellsText(taken)),
  optionalFact("Duplicates", duplicatesText(taken)),
  stored && ["Stored rows", formatCount(stored.rows - stored.known)],
])}`,
    details: [
      wrong.length > 0 && errorTable(taken),
      header && columnMappingTable(header, record),
      first.length > 0 && previewTable(first, record, zone),
    ],
  };
}

const formatRowCount = (n: number) => (n === 1 ? "1 row" : `${formatCount(n)} rows`);
const formatErrorCount = ({ wrong }: FileImportResult) =>
  wrong.length >= INVALID_ROWS_MAX ? `${formatCount(INVALID_ROWS_MAX)} or more` : formatCount(wrong.length);

const problemNotices = (taken: FileImportResult): HtmlPart => [
  taken.wrong.length > 0 &&
    `${formatErrorCount(taken)} of ${formatRowCount(taken.rows)} ${taken.wrong.length === 1 ? "is" : "are"} invalid. `,
  taken.broken !== null &&
    `${taken.rows > 0 ? "The file cannot be read to its end" : "The file cannot be read"}: ${taken.broken}. `,
];

const emptyNotice = formNotice("warn", "The file has no rows.");

function checkedNotice(taken: FileImportResult): Html {
  if (!isComplete(taken)) return formNotice("bad", html`${problemNotices(taken)}Nothing was stored.`);
  if (taken.rows === 0) return emptyNotice;
  return formNotice("good", `${formatRowCount(taken.rows)}, all valid. Nothing was stored yet.`);
}

function storedNotice(taken: FileImportResult, { rows, known }: NonNullable<UploadedFile["stored"]>): Html {
  if (isComplete(taken) && taken.rows === 0) return emptyNotice;
  const skipped = known > 0 ? ` Skipped ${formatCount(known)}: the same or a newer version is already stored.` : "";
  const stored = `Stored ${formatRowCount(rows - known)}`;
  if (isComplete(taken)) return formNotice("good", `${stored}.${skipped}`);
  const advice = "Fix the file and upload it again in full";
  if (rows === 0) return formNotice("bad", html`${problemNotices(taken)}Nothing was stored. ${advice}.`);
  return formNotice(
    "bad",
    html`${problemNotices(taken)}${stored}${taken.wrong.length > 0 && rows > known && ", up to the first invalid row"}.${skipped} ${advice}; rows already stored do not change.`,
  );
}

function errorTable({ wrong, place }: FileImportResult): Html {
  const faults = groupFaults(wrong);
  return html`<h2>Problems</h2>
${table(
  "Invalid rows",
  [
    { head: place === "line" ? "Line" : "Record", cell: ({ lines }) => formatCount(lines[0]!), numeric: true },
    { head: "Column", cell: ({ column }) => column || "the row" },
    { head: "Error", cell: (fault) => groupedFaultText(fault, place) },
  ],
  faults.slice(0, SHOWN_ERRORS_MAX),
)}
${faults.length > SHOWN_ERRORS_MAX && html`<p class="text soft">These are the first ${SHOWN_ERRORS_MAX}. “Invalid rows as CSV” checks the file again and lists up to ${formatCount(INVALID_ROWS_MAX)} rows.</p>`}`;
}

function columnMappingTable(header: HeaderMapping, { fields }: RecordKind<unknown>): Html {
  const columnOf = new Map(header.map(([column, field]) => [field, column]));
  const rows = [...fields].filter(([field, { required }]) => required || columnOf.has(field));
  const absent = [...fields.keys()].filter((field) => !rows.some(([shown]) => shown === field));
  const ignored = formatColumnList(ignoredColumns(header));
  return html`<h2>Columns</h2>
${table(
  "Columns",
  [
    { head: "Field", cell: ([field]) => html`<code>${field}</code>` },
    { head: "Column", cell: ([field]) => columnOf.get(field) ?? stateLabel("missing", "bad") },
  ],
  rows,
)}
${factList([
  absent.length > 0 ? ["Fields without a column", absent.join(", ")] : null,
  ignored !== "" ? ["Ignored columns (no matching field)", ignored] : null,
])}`;
}

type Row = Record<string, unknown>;

function previewTable(first: readonly Row[], { fields }: RecordKind<unknown>, zone: string): Html {
  const shown = [...fields.keys()].filter((field) => first.some((row) => row[field] !== undefined));
  const cell = (row: Row, field: string): HtmlPart => {
    const value = row[field];
    if (field === "amount")
      return html`${formatMoney(value as number, row.currency as string)}<br><small>${String(value)}</small>`;
    if (value instanceof Date) return timeElement(value, zone, "second");
    return value === undefined ? "" : String(value);
  };
  return html`<h2>Preview of valid rows</h2>
<p class="text soft">The number in small print is the amount in minor units. If the amount above it is a hundred times too large or too small, the column has another unit.</p>
${table(
  "First rows",
  shown.map((field) => ({ head: field, cell: (row: Row) => cell(row, field), numeric: field === "amount" })),
  first,
)}`;
}
