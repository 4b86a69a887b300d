import type { RecordKind } from "../../api/ingest/batch.ts";
import { type Header, listedColumns } from "../../domain/reading.ts";
import { HISTORY_KINDS, type KindName } from "../../history/kinds.ts";
import {
  absentWords,
  alikeFaultsOf,
  alikeWords,
  copiesWords,
  isWhole,
  passedOver,
  type Taken,
  WRONG_MAX,
} from "../../history/take-rows.ts";
import { type Html, html, type Part } from "../html.ts";
import { notice } from "../show/fields.ts";
import { moment } from "../show/moments.ts";
import { count, money } from "../show/money.ts";
import { facts, table } from "../show/table.ts";
import { state } from "../show/words.ts";
import type { ImportResult } from "./import-page.ts";

/** What became of a file that somebody sent. */
export interface Sent {
  kind: KindName;
  file: string;
  taken: Taken;
  /** Null: it was only checked. */
  stored: { rows: number; known: number } | null;
}

const WRONG_SHOWN = 20;

const optional = (name: string, words: string | null) => (words === null ? null : ([name, words] as const));

export function importResult({ kind, file, taken, stored }: Sent, zone: string): ImportResult {
  const { header, rows, first, wrong, unmet } = taken;
  const record = HISTORY_KINDS[kind].kind;
  return {
    short: html`${stored ? storedNotice(taken, stored) : checkedNotice(taken)}
${facts([
  ["File", html`<span class="id">${file}</span>`],
  ["Kind", kind],
  ["Rows", count(rows)],
  ["Wrong rows", wrongCount(taken)],
  unmet.length === 0 ? null : ["Words of --states that no row has", unmet.join(", ")],
  optional("Read as empty", absentWords(taken)),
  optional("Copies", copiesWords(taken)),
  stored && ["Stored rows", count(stored.rows - stored.known)],
])}`,
    long: [
      wrong.length > 0 && wrongTable(taken),
      header && mapping(header, record),
      first.length > 0 && preview(first, record, zone),
    ],
  };
}

const rowsWords = (n: number) => (n === 1 ? "1 row" : `${count(n)} rows`);
const wrongCount = ({ wrong }: Taken) =>
  wrong.length >= WRONG_MAX ? `${count(WRONG_MAX)} or more` : count(wrong.length);

/** What keeps a file from being stored as a whole. */
const problems = (taken: Taken): Part => [
  taken.wrong.length > 0 &&
    `${wrongCount(taken)} of ${rowsWords(taken.rows)} ${taken.wrong.length === 1 ? "is" : "are"} wrong. `,
  taken.broken !== null && `${taken.rows > 0 ? "It can't be read to its end" : "It can't be read"}: ${taken.broken}. `,
];

const emptyNotice = notice("warn", "There are no rows in the file.");

function checkedNotice(taken: Taken): Html {
  if (!isWhole(taken)) return notice("bad", html`${problems(taken)}Nothing was stored.`);
  if (taken.rows === 0) return emptyNotice;
  return notice("good", `${rowsWords(taken.rows)}, and nothing is wrong with them. Nothing was stored yet.`);
}

function storedNotice(taken: Taken, { rows, known }: NonNullable<Sent["stored"]>): Html {
  if (isWhole(taken) && taken.rows === 0) return emptyNotice;
  const newer = known > 0 ? ` Of ${rowsWords(known)} the same or a newer copy was there, and stays.` : "";
  if (isWhole(taken)) return notice("good", `${rowsWords(rows - known)} stored.${newer}`);
  const mend = "Mend the file and send all of it again";
  if (rows === 0) return notice("bad", html`${problems(taken)}Nothing was stored. ${mend}.`);
  return notice(
    "bad",
    html`${problems(taken)}${rowsWords(rows - known)} stored${taken.wrong.length > 0 && rows > known && ", all of them before the first that is wrong, and none after"}.${newer} ${mend}: what is stored already is not changed by that.`,
  );
}

function wrongTable({ wrong, place }: Taken): Html {
  const faults = alikeFaultsOf(wrong);
  return html`<h2>What is wrong</h2>
${table(
  "Wrong rows",
  [
    { head: place === "line" ? "Line" : "Record", cell: ({ lines }) => count(lines[0]!), numeric: true },
    { head: "Column", cell: ({ column }) => column || "the row" },
    { head: "Error", cell: (fault) => alikeWords(fault, place) },
  ],
  faults.slice(0, WRONG_SHOWN),
)}
${faults.length > WRONG_SHOWN && html`<p class="text soft">The first ${WRONG_SHOWN}. “Wrong rows as CSV” gives all of them, of ${count(WRONG_MAX)} rows at most; it checks the file once more.</p>`}`;
}

function mapping(header: Header, { fields }: RecordKind<unknown>): Html {
  const columnOf = new Map(header.map(([column, field]) => [field, column]));
  const rows = [...fields].filter(([field, { required }]) => required || columnOf.has(field));
  const absent = [...fields.keys()].filter((field) => !rows.some(([shown]) => shown === field));
  const over = listedColumns(passedOver(header));
  return html`<h2>How the columns are read</h2>
${table(
  "Columns",
  [
    { head: "Field", cell: ([field]) => html`<code>${field}</code>` },
    { head: "Column", cell: ([field]) => columnOf.get(field) ?? state("missing", "bad") },
  ],
  rows,
)}
${facts([
  absent.length > 0 ? ["Fields that are not in the file", absent.join(", ")] : null,
  over !== "" ? ["Columns that are passed over", over] : null,
])}`;
}

type Row = Record<string, unknown>;

function preview(first: readonly Row[], { fields }: RecordKind<unknown>, zone: string): Html {
  const shown = [...fields.keys()].filter((field) => first.some((row) => row[field] !== undefined));
  const cell = (row: Row, field: string): Part => {
    const value = row[field];
    if (field === "amount")
      return html`${money(value as number, row.currency as string)}<br><small>${String(value)}</small>`;
    if (value instanceof Date) return moment(value, zone, "second");
    return value === undefined ? "" : String(value);
  };
  return html`<h2>The first right rows, as they are stored</h2>
<p class="text soft">Amounts are whole minor units, in small print; above them is what they come to. If that is a hundred times too much or too little, the column is in another unit.</p>
${table(
  "First rows",
  shown.map((field) => ({ head: field, cell: (row: Row) => cell(row, field), numeric: field === "amount" })),
  first,
)}`;
}
