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

/** The result of a file: a summary above the form, and the details below it. */
export interface ImportResult {
  short: Html;
  long: HtmlPart;
}

/**
 * The stored history, and the form that imports more.
 *
 * @param typed  in the form, to be sent again
 */
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
  const all = KIND_NAMES.reduce((sum, kind) => sum + counts[kind], 0);
  const countWords = (n: number) => (n > COUNT_MAX ? `more than ${formatCount(COUNT_MAX)}` : formatCount(n));
  const form = html`<h2>Import a file</h2>
<p class="text">CSV, with a first line of column names, JSONL with a record in each line, or JSON with a list of records. The fields are <a href="/docs">those of the API</a>: amounts are in cents (the smallest unit of the currency) and times as in 2026-01-31T12:00:00Z, unless you say below that a CSV writes them otherwise; card numbers are refused. Subscriptions come first, then invoices, then transactions, if you have them all.</p>
${visit.may("import") ? uploadForm(typed) : html`<p class="text soft">Owners, admins and developers import.</p>`}`;
  return {
    title: "Import",
    tools: imports.length > 0 && html`<a class="button" href="/import.csv">Export CSV</a>`,
    body: html`
${
  result
    ? html`${result.short}${form}${result.long}`
    : html`<p class="lead">${all === 0 ? "Nothing is known of the past yet" : html`${countWords(counts.transactions)} payment attempts are known`}</p>
<p class="text">What your billing system knew before Dunlin came teaches the engine, and lets it judge <a href="/backtest">other ways of trying again</a>. It opens no case: what is unpaid in a file is left alone until a newer copy of it is pushed.</p>`
}
<h2>Pushed or imported by now</h2>
${factList(KIND_NAMES.map((kind) => [capitalize(kind), countWords(counts[kind])] as const))}
${!result && form}
<details class="more"><summary>Files above ${UPLOAD_BYTES_MAX / MIB} MiB</summary>
<p class="text">Send them in parts, or ask whoever runs Dunlin: the command reads files of any size on its machine. It checks every row before it stores one, and goes on where it was when it was stopped.</p>
${copyableText("Dry run", importCommandText(merchantId, "transactions", "attempts.csv", " --dry-run --errors wrong.csv"))}
${copyableText(
  "Commands",
  KIND_NAMES.map((kind) =>
    importCommandText(merchantId, kind, kind === "transactions" ? "attempts.csv" : `${kind}.csv`, ""),
  ).join("\n"),
)}</details>
${imports.length > 0 && html`<h2>What was imported</h2>${importTable(imports, person.zone)}`}`,
  };
}

const DATE_ORDER_CHOICES = [
  ["", "With an offset: 2026-01-31 12:00+00; or a day alone"],
  ["ymd", "Year, month, day: 2026-01-31 12:00, in UTC"],
  ["dmy", "Day, month, year: 31.01.2026 12:00, 31-Jan-2026 12:00, in UTC"],
  ["mdy", "Month, day, year: 01/31/2026 12:00, Jan 31, 2026 12:00, in UTC"],
] as const;
const DECIMAL_MARK_CHOICES = [
  ["", "In cents, without decimals: 123450"],
  ["point", "With a decimal point: 1,234.50 or 1,23,456.50"],
  ["comma", "With a decimal comma: 1.234,50"],
] as const;

/** Each button sends the file to a path of its own, so that its purpose is known before the file arrives. */
const uploadForm = (typed: URLSearchParams): Html => html`
<form method="post" action="/import/check" enctype="multipart/form-data" class="card" data-upload="${UPLOAD_BYTES_MAX}">
${selectField(
  "What is in it",
  "kind",
  KIND_NAMES.map((kind) => [kind, capitalize(kind)] as const),
  typed.get("kind") ?? "subscriptions",
)}
${formField({ label: "Columns with other names", name: "map", value: typed.get("map") ?? "", maxlength: 4096, placeholder: "amount=total_cents,customerId=customer", hint: "Our field = your column, with commas between them; all our fields are below. Only for CSV, as are the next three." })}
${formField({ label: "Your words for states", name: "states", value: typed.get("states") ?? "", maxlength: 4096, placeholder: "Authorised=PAID,Refused=FAILED", hint: "Your word = our state, with commas between them, in any spelling." })}
${selectField("How dates are written", "dates", DATE_ORDER_CHOICES, typed.get("dates") ?? "")}
${selectField("How amounts are written", "decimals", DECIMAL_MARK_CHOICES, typed.get("decimals") ?? "")}
<details class="field"><summary>The fields</summary>${factList(KIND_NAMES.map((kind) => [capitalize(kind), fieldList(kind)] as const))}</details>
<p class="field"><label for="file">File</label>
<input id="file" name="file" type="file" required accept=".csv,.json,.jsonl,.ndjson,text/csv" aria-describedby="file-hint"><small id="file-hint">At most ${UPLOAD_BYTES_MAX / MIB} MiB. Sending a file twice changes nothing.</small></p>
<p><button class="main">Check</button> <button formaction="/import">Import</button> <button formaction="/import/wrong.csv" class="plain">Wrong rows as CSV</button></p>
<p class="soft"><b>Check</b> reads every row, shows how, and stores nothing. <b>Import</b> stores rows while they arrive, up to the first that is wrong: check first.</p>
<progress hidden aria-label="How much of the file was sent"></progress>
</form>`;

/** The required ones stand out. */
const fieldList = (kind: (typeof KIND_NAMES)[number]): HtmlPart =>
  [...HISTORY_KIND_BY_NAME[kind].kind.fields].map(([name, { required }]) =>
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
          html`${formatCount(Number(details.rows))}${details["whole file"] === "no" && html`<br><small>not the whole file</small>`}`,
        numeric: true,
      },
      { head: "Known before", cell: ({ details }) => formatCount(Number(details["known before"])), numeric: true },
    ],
    imports,
  );

const capitalize = (word: string) => word.replace(/^./, (first) => first.toUpperCase());

const importCommandText = (merchantId: string, kind: string, file: string, more: string) =>
  `npx dunlin import ${file} --merchant ${merchantId} --as ${kind}${more}`;
