import { toDisplayText } from "../../domain/display-text.ts";
import { DECLINE_GROUPS } from "../../engine/rules/decline-groups.ts";
import { findUnknownCodes, UNKNOWN_CODES_DAYS, type UnknownCode } from "../../merchants/find-unknown-codes.ts";
import { ATTEMPTS_MAX } from "../../tables/decline-code-counts.ts";
import type { Console } from "../console.ts";
import { type Html, html } from "../html.ts";
import type { Page } from "../page-layout.ts";
import { formatCount } from "../show/number-format.ts";
import { copyableText, emptyNotice, table } from "../show/table.ts";
import { timeElement } from "../show/time-format.ts";
import type { Visit } from "../visit.ts";

const SHOWN_CODES_MAX = 50;

/** Codes that Dunlin can't read, and what a file of rules has to say about them. */
export function declineCodeRoutes({ page, ports }: Console) {
  page("/decline_codes", null, async (visit): Promise<Page> => {
    const now = ports.now();
    const unknown = await findUnknownCodes(visit.db, visit.merchantId, now);
    return {
      title: "Unknown decline codes",
      body: unknown.length === 0 ? NO_UNKNOWN_CODES : unknownCodeList(unknown, visit, now),
    };
  });
}

const SEARCHED_RANGE = `of the last ${UNKNOWN_CODES_DAYS} days, in at most ${formatCount(ATTEMPTS_MAX)} attempts`;
const NO_UNKNOWN_CODES = emptyNotice(`Dunlin knows every decline code ${SEARCHED_RANGE}.`);

function unknownCodeList(unknown: readonly UnknownCode[], { person: { zone } }: Visit, now: Date): Html {
  const rows = unknown.slice(0, SHOWN_CODES_MAX);
  return html`
<p class="text">No table of Dunlin has these codes ${SEARCHED_RANGE}. Unless another code of the decline says why it failed, Dunlin retries a card as if nothing were known, even if it was stolen, and never presents a bank debit again.</p>
${table(
  "Unknown decline codes",
  [
    {
      head: "Gateway",
      cell: ({ gateway }) => (gateway === null ? html`<span class="soft">not named</span>` : toDisplayText(gateway)),
    },
    { head: "Code", cell: ({ code }) => html`<code>${toDisplayText(code)}</code>` },
    { head: "Field", cell: ({ part }) => FIELD_LABELS[part] },
    { head: "Declines", cell: ({ declines }) => formatCount(declines), numeric: true },
    { head: "Last seen", cell: ({ lastAt }) => timeElement(lastAt, zone) },
  ],
  rows,
)}
${unknown.length > rows.length && html`<p class="text">${formatCount(unknown.length - rows.length)} less frequent codes are not shown.</p>`}
<h2>Rules for these codes</h2>
<p class="text">Your gateway's documentation says what a code means. To teach it to Dunlin, whoever runs Dunlin adds these lines to the file that <code>DUNLIN_RULES</code> names, and restarts it. Replace each <code>GROUP</code> with one of ${DECLINE_GROUPS.slice(0, -1).join(", ")}. Dunlin does not start while one is left. <a href="/docs/reference/rules.html">All that such a file may say</a>.</p>
${copyableText("Rules", rulesFileText(rows, now))}`;
}

const FIELD_LABELS: Readonly<Record<UnknownCode["part"], string>> = {
  gatewayCodes: "Gateway code",
  responseCodes: "Network code",
  adviceCodes: "Advice code",
};

/** A whole file of rules. A code that can't be shown as it is can't be copied either, and is left out. */
function rulesFileText(rows: readonly UnknownCode[], now: Date): string {
  const rules = (part: UnknownCode["part"], rule: unknown) => {
    const found = rows.filter((row) => row.part === part && toDisplayText(row.key) === row.key);
    return found.length === 0 ? {} : { [part]: Object.fromEntries(found.map(({ key }) => [key, rule])) };
  };
  const file = {
    document: "Documentation of the gateway",
    date: now.toISOString().slice(0, 10),
    ...rules("gatewayCodes", "GROUP"),
    ...rules("responseCodes", { category: 4, group: "GROUP" }),
    ...rules("adviceCodes", { group: "GROUP" }),
  };
  return JSON.stringify(file, null, 2);
}
