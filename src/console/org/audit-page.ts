import { type AuditEntry, type AuditFilter, listAuditEntries } from "../../tables/audit-log.ts";
import type { Console } from "../console.ts";
import { type HtmlPart, html } from "../html.ts";
import type { Page } from "../page-layout.ts";
import { enumReader, parsePageQuery, uuidReader, withQuery } from "../page-query.ts";
import { readInPages, sendCsv } from "../show/csv-export.ts";
import { formField, selectField } from "../show/form-fields.ts";
import { emptyNotice, pageLinks, table } from "../show/table.ts";
import { formatZonedIso, timeElement } from "../show/time-format.ts";
import type { Visit } from "../visit.ts";

const PAGE_ROWS = 50;
const CSV_PAGE_ROWS = 1_000;
const AUDITED_NOUNS = [
  "member",
  "invite",
  "key",
  "webhook",
  "chat",
  "merchant",
  "customer",
  "connection",
  "delivery",
  "recovery",
  "rules",
  "experiment",
  "backtest",
  "history",
  "export",
] as const;
const QUERY_READERS = {
  actor: (text: string) => text.toLowerCase(),
  noun: enumReader(AUDITED_NOUNS),
  before: uuidReader,
};

export function auditRoutes(console: Console) {
  console.page("/org/audit", "audit", (visit) => auditPage(visit));
  console.page("/org/audit.csv", "audit", ({ db, query, merchantId, person: { zone }, reply }) => {
    const filter = parsePageQuery(query, QUERY_READERS);
    const pages = readInPages(
      CSV_PAGE_ROWS,
      (last: AuditEntry | null) =>
        listAuditEntries(db, merchantId, { ...filter, ...(last && { before: last.id }) }, CSV_PAGE_ROWS),
      ({ at, actor, operation, object, details, address }) => [
        at.toISOString(),
        formatZonedIso(at, zone),
        actor,
        operation,
        object,
        JSON.stringify(details),
        address,
      ],
    );
    return sendCsv(reply, "audit.csv", ["at_utc", "at", "who", "what", "object", "details", "address"], pages);
  });
}

async function auditPage({ db, query, path, merchantId, person: { zone } }: Visit): Promise<Page> {
  const filter: AuditFilter = parsePageQuery(query, QUERY_READERS);
  const found = await listAuditEntries(db, merchantId, filter, PAGE_ROWS + 1);
  const rows = found.slice(0, PAGE_ROWS);
  const next = found.length > PAGE_ROWS ? withQuery(path, query, { before: rows.at(-1)!.id }) : null;
  const csv = withQuery("/org/audit.csv", query, { before: null });
  return {
    title: "Audit log",
    tools: html`<a class="button" href="${csv}">Export CSV</a>`,
    body: html`
<p>All changes by people and commands, each stored together with the change itself. Entries cannot be altered.</p>
<form method="get" class="filters" data-search>
${formField({ label: "Who", name: "actor", value: filter.actor ?? "" })}
${selectField("About", "noun", [["", "everything"], ...AUDITED_NOUNS.map((noun) => [noun, noun] as const)], filter.noun ?? "")}
<button>Filter</button></form>
${rows.length === 0 ? emptyNotice("No change matches.") : auditTable(rows, zone)}
${pageLinks(filter.before === undefined, withQuery(path, query, { before: null }), next)}`,
  };
}

const auditTable = (rows: readonly AuditEntry[], zone: string) =>
  table(
    "Changes",
    [
      { head: "When", cell: ({ at }) => timeElement(at, zone, "second") },
      { head: "Who", cell: ({ actor, address }) => html`${actor}${address && html`<br><small>${address}</small>`}` },
      { head: "What", cell: ({ operation }) => operation.replace(".", " ").replaceAll("_", " ") },
      { head: "Object", cell: ({ object }) => html`<div class="long">${object}</div>` },
      { head: "Details", cell: ({ details }) => detailsText(details, zone) },
    ],
    rows,
  );

/** Such as "before: viewer, now: admin". */
const detailsText = (details: AuditEntry["details"], zone: string): HtmlPart =>
  Object.entries(details).map(
    ([name, value]) => html`<div class="long"><span class="soft">${name}</span> ${valueText(value, zone)}</div>`,
  );

const UTC_TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

function valueText(value: unknown, zone: string): HtmlPart {
  if (value === null || value === "") return "none";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "string") return UTC_TIMESTAMP.test(value) ? timeElement(new Date(value), zone) : value;
  return Array.isArray(value) ? value.join(", ") : JSON.stringify(value);
}
