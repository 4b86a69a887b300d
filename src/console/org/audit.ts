import { type Audited, type AuditFilter, listAudited } from "../../store/audit-log.ts";
import type { Console } from "../console.ts";
import type { Page } from "../frame.ts";
import { html, type Part } from "../html.ts";
import { oneOf, readQuery, uuid, withQuery } from "../query.ts";
import { inPages, sendCsv } from "../show/csv.ts";
import { choice, field } from "../show/fields.ts";
import { moment, zonedIso } from "../show/moments.ts";
import { empty, paging, table } from "../show/table.ts";
import type { Visit } from "../visit.ts";

const PAGE = 50;
const CSV_PAGE = 1_000;
const NOUNS = [
  "member",
  "invite",
  "key",
  "webhook",
  "merchant",
  "customer",
  "delivery",
  "recovery",
  "experiment",
  "backtest",
  "history",
  "export",
] as const;
const READERS = {
  actor: (text: string) => text.toLowerCase(),
  noun: oneOf(NOUNS),
  before: uuid,
};

/** The audit log: each change and the person who made it. */
export function auditRoutes(console: Console) {
  console.page("/org/audit", "audit", (visit) => auditPage(visit));
  console.page("/org/audit.csv", "audit", ({ db, query, merchantId, person: { zone }, reply }) => {
    const filter = readQuery(query, READERS);
    const pages = inPages(
      CSV_PAGE,
      (last: Audited | null) => listAudited(db, merchantId, { ...filter, ...(last && { before: last.id }) }, CSV_PAGE),
      ({ at, actor, deed, object, details, address }) => [
        at.toISOString(),
        zonedIso(at, zone),
        actor,
        deed,
        object,
        JSON.stringify(details),
        address,
      ],
    );
    return sendCsv(reply, "audit.csv", ["at_utc", "at", "who", "what", "object", "details", "address"], pages);
  });
}

async function auditPage({ db, query, path, merchantId, person: { zone } }: Visit): Promise<Page> {
  const filter: AuditFilter = readQuery(query, READERS);
  const found = await listAudited(db, merchantId, filter, PAGE + 1);
  const rows = found.slice(0, PAGE);
  const next = found.length > PAGE ? withQuery(path, query, { before: rows.at(-1)!.id }) : null;
  const csv = withQuery("/org/audit.csv", query, { before: null });
  return {
    title: "Audit log",
    tools: html`<a class="button" href="${csv}">Export CSV</a>`,
    body: html`
<p>Every change that people and commands made, written with the change itself. Nothing in it can be altered.</p>
<form method="get" class="filters" data-search>
${field({ label: "Who", name: "actor", value: filter.actor ?? "" })}
${choice("About", "noun", [["", "everything"], ...NOUNS.map((noun) => [noun, noun] as const)], filter.noun ?? "")}
<button>Filter</button></form>
${rows.length === 0 ? empty("No change fits.") : auditTable(rows, zone)}
${paging(filter.before === undefined, withQuery(path, query, { before: null }), next)}`,
  };
}

const auditTable = (rows: readonly Audited[], zone: string) =>
  table(
    "Changes",
    [
      { head: "When", cell: ({ at }) => moment(at, zone, "second") },
      { head: "Who", cell: ({ actor, address }) => html`${actor}${address && html`<br><small>${address}</small>`}` },
      { head: "What", cell: ({ deed }) => deed.replace(".", " ").replaceAll("_", " ") },
      { head: "Object", cell: ({ object }) => html`<div class="long">${object}</div>` },
      { head: "Details", cell: ({ details }) => detailsText(details, zone) },
    ],
    rows,
  );

/** "before: viewer, now: admin". */
const detailsText = (details: Audited["details"], zone: string): Part =>
  Object.entries(details).map(
    ([name, value]) => html`<div class="long"><span class="soft">${name}</span> ${valueText(value, zone)}</div>`,
  );

const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

/** Returns a JSON value as people write it. */
function valueText(value: unknown, zone: string): Part {
  if (value === null || value === "") return "none";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "string") return MOMENT.test(value) ? moment(new Date(value), zone) : value;
  return Array.isArray(value) ? value.join(", ") : JSON.stringify(value);
}
