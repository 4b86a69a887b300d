import { HISTORY_KIND_BY_NAME, KIND_NAMES } from "../../import/record-kinds.ts";
import { type AuditEntry, listAuditEntries } from "../../tables/audit-log.ts";
import { COUNT_MAX, countRecords } from "../../tables/record-counts.ts";
import { type Html, type HtmlPart, html } from "../html.ts";
import type { Page } from "../page-layout.ts";
import { formField, selectField } from "../show/form-fields.ts";
import { formatCount } from "../show/number-format.ts";
import { copyableText, factList, table } from "../show/table.ts";
import { timeElement } from "../show/time-format.ts";
import type { Visit } from "../visit.ts";
import { UPLOAD_BYTES_MAX } from "./upload.ts";

const SHOWN_IMPORTS_MAX = 20;
const MIB = 1024 * 1024;

export interface ImportResult {
  summary: Html;
  details: HtmlPart;
}

/** @param typed  the previous input */
export async function importPage(
  visit: Visit,
  result: ImportResult | null = null,
  typed = new URLSearchParams(),
): Promise<Page> {
  const { db, merchantId, person } = visit;
  const [counts, imports] = await Promise.all([
    countRecords(db, merchantId),
    listAuditEntries(db, merchantId, { noun: "history" }, SHOWN_IMPORTS_MAX),
  ]);
  const total = KIND_NAMES.reduce((sum, kind) => sum + counts[kind], 0);
  const countWords = (n: number) => (n > COUNT_MAX ? `more than ${formatCount(COUNT_MAX)}` : formatCount(n));
  const form = html`<h2>Import a file</h2>
<p class="text">CSV with a header line, JSONL with one record per line, or a JSON list of records. The fields are <a href="/docs">those of the API</a>. Amounts are in the smallest unit of the currency (such as cents), and times look like 2026-01-31T12:00:00Z, unless you choose another format for CSV below. Card numbers are refused. If you have several files, import subscriptions first, then invoices, then transactions.</p>
${visit.may("import") ? uploadForm(typed) : html`<p class="text soft">Owners, admins and developers can import files.</p>`}`;
  return {
    title: "Import",
    tools: imports.length > 0 && html`<a class="button" href="/import.csv">Export CSV</a>`,
    body: html`
${
  result
    ? html`${result.summary}${form}${result.details}`
    : html`<p class="lead">${total === 0 ? "No history yet" : html`${countWords(counts.transactions)} payment attempts`}</p>
<p class="text">Import history to train the engine and to <a href="/backtest">backtest retry strategies</a>. Imports open no cases: an unpaid invoice in a file enters recovery only when a newer version is pushed.</p>`
}
<h2>Stored records</h2>
${factList(KIND_NAMES.map((kind) => [capitalize(kind), countWords(counts[kind])] as const))}
${!result && form}
<details class="more"><summary>Files over ${UPLOAD_BYTES_MAX / MIB} MiB</summary>
<p class="text">Split the file, or ask the operator of Dunlin to run the command, which has no size limit. It checks all rows before it stores any, and resumes after an interruption.</p>
${copyableText("Dry run", importCommandText(merchantId, "transactions", "attempts.csv", " --dry-run --errors wrong.csv"))}
${copyableText(
  "Commands",
  KIND_NAMES.map((kind) =>
    importCommandText(merchantId, kind, kind === "transactions" ? "attempts.csv" : `${kind}.csv`, ""),
  ).join("\n"),
)}</details>
${imports.length > 0 && html`<h2>Earlier imports</h2>${importTable(imports, person.zone)}`}`,
  };
}

const DATE_ORDER_CHOICES = [
  ["", "With an offset: 2026-01-31 12:00+00; or only a date"],
  ["ymd", "Year, month, day: 2026-01-31 12:00, in UTC"],
  ["dmy", "Day, month, year: 31.01.2026 12:00, 31-Jan-2026 12:00, in UTC"],
  ["mdy", "Month, day, year: 01/31/2026 12:00, Jan 31, 2026 12:00, in UTC"],
] as const;
const DECIMAL_MARK_CHOICES = [
  ["", "In cents, without decimals: 123450"],
  ["point", "With a decimal point: 1,234.50 or 1,23,456.50"],
  ["comma", "With a decimal comma: 1.234,50"],
] as const;

/** Each button has its own path, so that the purpose is known before the file arrives. */
const uploadForm = (typed: URLSearchParams): Html => html`
<form method="post" action="/import/check" enctype="multipart/form-data" class="box" data-upload="${UPLOAD_BYTES_MAX}">
${selectField(
  "Kind of record",
  "kind",
  KIND_NAMES.map((kind) => [kind, capitalize(kind)] as const),
  typed.get("kind") ?? "subscriptions",
)}
<fieldset><legend>Only for CSV files</legend>
${formField({ label: "Column names", name: "map", value: typed.get("map") ?? "", maxlength: 4096, placeholder: "amount=total_cents,customerId=customer", hint: "For columns whose names differ: field=column, separated by commas." })}
${formField({ label: "State names", name: "states", value: typed.get("states") ?? "", maxlength: 4096, placeholder: "Authorised=PAID,Refused=FAILED", hint: "For states with other names: your word=state, separated by commas, in any spelling." })}
${selectField("Date format", "dates", DATE_ORDER_CHOICES, typed.get("dates") ?? "")}
${selectField("Amount format", "decimals", DECIMAL_MARK_CHOICES, typed.get("decimals") ?? "")}
</fieldset>
<details class="field"><summary>Fields</summary>${factList(KIND_NAMES.map((kind) => [capitalize(kind), fieldList(kind)] as const))}</details>
<p class="field"><label for="file">File</label>
<input id="file" name="file" type="file" required accept=".csv,.json,.jsonl,.ndjson,text/csv" aria-describedby="file-hint"><small id="file-hint">At most ${UPLOAD_BYTES_MAX / MIB} MiB. Importing a file twice changes nothing.</small></p>
<p><button class="main">Check</button> <button formaction="/import">Import</button> <button formaction="/import/wrong.csv" class="plain">Invalid rows as CSV</button></p>
<p class="soft"><b>Check</b> reads every row and stores nothing. <b>Import</b> stores rows as they arrive, up to the first invalid one, so check the file first.</p>
<progress hidden aria-label="Upload progress"></progress>
</form>`;

/** Required fields are bold. */
const fieldList = (kind: (typeof KIND_NAMES)[number]): HtmlPart =>
  [...HISTORY_KIND_BY_NAME[kind].recordKind.fields].map(([name, { required }]) =>
    required ? html`<b><code>${name}</code></b> ` : html`<code>${name}</code> `,
  );

const importTable = (imports: readonly AuditEntry[], zone: string): Html =>
  table(
    "Imports",
    [
      { head: "When", cell: ({ at }) => timeElement(at, zone) },
      { head: "By", cell: ({ actor }) => actor },
      { head: "Kind", cell: ({ object }) => object },
      { head: "File", cell: ({ details }) => html`<span class="id">${String(details.file)}</span>` },
      {
        head: "Rows",
        cell: ({ details }) =>
          html`${formatCount(Number(details.rows))}${details["whole file"] === "no" && html`<br><small>incomplete</small>`}`,
        numeric: true,
      },
      { head: "Already stored", cell: ({ details }) => formatCount(Number(details["known before"])), numeric: true },
    ],
    imports,
  );

const capitalize = (word: string) => word.replace(/^./, (first) => first.toUpperCase());

const importCommandText = (merchantId: string, kind: string, file: string, options: string) =>
  `npx dunlin import ${file} --merchant ${merchantId} --as ${kind}${options}`;
