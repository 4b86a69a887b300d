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

const SEARCHED_RANGE = `from the last ${UNKNOWN_CODES_DAYS} days (checked in at most ${formatCount(ATTEMPTS_MAX)} attempts)`;
const NO_UNKNOWN_CODES = emptyNotice(`Dunlin knows every decline code ${SEARCHED_RANGE}.`);

function unknownCodeList(unknown: readonly UnknownCode[], { person: { zone } }: Visit, now: Date): Html {
  const rows = unknown.slice(0, SHOWN_CODES_MAX);
  return html`
<p class="text">Dunlin does not know these codes ${SEARCHED_RANGE}. Unless another code of the decline gives the reason, Dunlin retries a card as if the reason were unknown, even if the card was stolen, and never presents a bank debit again.</p>
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
<p class="text">Look up the meaning of each code in your gateway's documentation. The operator of Dunlin then adds these lines to the file named by <code>DUNLIN_RULES</code> and restarts Dunlin. Replace each <code>GROUP</code> with one of ${DECLINE_GROUPS.slice(0, -1).join(", ")}. Dunlin does not start while the file contains a <code>GROUP</code>. <a href="/docs/reference/rules.html">Reference for the rules file</a></p>
${copyableText("Rules", rulesFileText(rows, now))}`;
}

const FIELD_LABELS: Readonly<Record<UnknownCode["part"], string>> = {
  gatewayCodes: "Gateway code",
  responseCodes: "Network code",
  adviceCodes: "Advice code",
};

function rulesFileText(rows: readonly UnknownCode[], now: Date): string {
  const rules = (part: UnknownCode["part"], rule: unknown) => {
    const matching = rows.filter((row) => row.part === part && toDisplayText(row.key) === row.key);
    return matching.length === 0 ? {} : { [part]: Object.fromEntries(matching.map(({ key }) => [key, rule])) };
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
