import { type Audited, listAudited } from "../../store/audit-log.ts";
import { COUNT_MAX, recordCounts } from "../../store/record-counts.ts";
import type { Console } from "../console.ts";
import type { Page } from "../frame.ts";
import { html } from "../html.ts";
import { readQuery } from "../query.ts";
import { inPages, sendCsv } from "../show/csv.ts";
import { moment, zonedIso } from "../show/moments.ts";
import { count } from "../show/money.ts";
import { copyable, facts, table } from "../show/table.ts";

const KINDS = ["subscriptions", "invoices", "transactions"] as const;
const LATEST = 20;
const CSV_PAGE = 1_000;

/** What is known of the past, and how more of it comes in. */
export function importRoutes({ page }: Console) {
  page("/import", null, async ({ db, query, merchantId, person: { zone } }): Promise<Page> => {
    readQuery(query, {});
    const [counts, imports] = await Promise.all([
      recordCounts(db, merchantId),
      listAudited(db, merchantId, { noun: "history" }, LATEST),
    ]);
    const all = KINDS.reduce((sum, kind) => sum + counts[kind], 0);
    const countWords = (n: number) => (n > COUNT_MAX ? `more than ${count(COUNT_MAX)}` : count(n));
    return {
      title: "Import",
      tools: imports.length > 0 && html`<a class="button" href="/import.csv">Export CSV</a>`,
      body: html`
<p class="lead">${all === 0 ? "Nothing is known of the past yet" : html`${countWords(counts.transactions)} payment attempts are known`}</p>
<p class="text">What your billing system knew before Dunlin came teaches the engine, and lets it judge <a href="/backtest">other ways of trying again</a>. It opens no case: what is unpaid in a file is left alone until a newer copy of it is pushed.</p>
<h2>Pushed or imported by now</h2>
${facts(KINDS.map((kind) => [capital(kind), countWords(counts[kind])] as const))}
<h2>Import a file</h2>
<p class="text">On the machine that Dunlin runs on, as CSV with a first line of column names or as JSONL. The fields are <a href="/docs">those of the API</a>. First a dry run, which checks every row and stores nothing:</p>
${copyable("Dry run", commandOf(merchantId, "transactions", "attempts.csv", " --dry-run --errors wrong.csv"))}
<p class="text">Then all three, in this order if you have them. An import that is stopped goes on where it was when it is started again; importing a file twice changes nothing.</p>
${copyable(
  "Commands",
  KINDS.map((kind) => commandOf(merchantId, kind, kind === "transactions" ? "attempts.csv" : `${kind}.csv`, "")).join(
    "\n",
  ),
)}
<p class="text soft">Columns of other names: <code>--map amount=total_cents,customerId=customer</code>. Amounts are whole minor units, moments are RFC 3339. Card numbers are refused.</p>
${
  imports.length > 0 &&
  html`<h2>What was imported</h2>${table(
    "Imports",
    [
      { head: "When", cell: ({ at }) => moment(at, zone) },
      { head: "By", cell: ({ actor }) => actor },
      { head: "Kind", cell: ({ object }) => object },
      { head: "File", cell: ({ details }) => html`<span class="id">${String(details.file)}</span>` },
      { head: "Rows", cell: ({ details }) => count(Number(details.rows)), numeric: true },
      { head: "Known before", cell: ({ details }) => count(Number(details["known before"])), numeric: true },
    ],
    imports,
  )}`
}`,
    };
  });
  page("/import.csv", null, ({ db, query, merchantId, person: { zone }, reply }) => {
    readQuery(query, {});
    const pages = inPages(
      CSV_PAGE,
      (last: Audited | null) =>
        listAudited(db, merchantId, { noun: "history", ...(last && { before: last.id }) }, CSV_PAGE),
      ({ at, actor, object, details }) => [
        at.toISOString(),
        zonedIso(at, zone),
        actor,
        object,
        String(details.file),
        Number(details.rows),
        Number(details["known before"]),
      ],
    );
    return sendCsv(reply, "imports.csv", HEADINGS, pages);
  });
}

const capital = (word: string) => word.replace(/^./, (first) => first.toUpperCase());

const HEADINGS = ["at_utc", "at", "by", "kind", "file", "rows", "known_before"];

const commandOf = (merchantId: string, kind: string, file: string, more: string) =>
  `npx dunlin import ${file} --merchant ${merchantId} --as ${kind}${more}`;
