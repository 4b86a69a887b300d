import { shownText } from "../../domain/shown-text.ts";
import { findUnknownCodes, UNKNOWN_CODES_DAYS, type UnknownCode } from "../../recovery/unknown-codes.ts";
import { DECLINE_GROUPS } from "../../rules/decline-groups.ts";
import { ATTEMPTS_MAX } from "../../store/coded-declines.ts";
import type { Console } from "../console.ts";
import type { Page } from "../frame.ts";
import { type Html, html } from "../html.ts";
import { moment } from "../show/moments.ts";
import { count } from "../show/money.ts";
import { copyable, empty, table } from "../show/table.ts";
import type { Visit } from "../visit.ts";

const SHOWN_MAX = 50;

/** Codes that Dunlin can't read, and what a file of rules has to say about them. */
export function declineCodeRoutes({ page, ports }: Console) {
  page("/decline_codes", null, async (visit): Promise<Page> => {
    const now = ports.now();
    const unknown = await findUnknownCodes(visit.db, visit.merchantId, now);
    return { title: "Unknown decline codes", body: unknown.length === 0 ? NOTHING : listed(unknown, visit, now) };
  });
}

const LOOKED = `of the last ${UNKNOWN_CODES_DAYS} days, in at most ${count(ATTEMPTS_MAX)} attempts`;
const NOTHING = empty(`Dunlin knows every decline code ${LOOKED}.`);

function listed(unknown: readonly UnknownCode[], { person: { zone } }: Visit, now: Date): Html {
  const rows = unknown.slice(0, SHOWN_MAX);
  return html`
<p class="text">No table of Dunlin has these codes ${LOOKED}. Unless another code of the decline says why it failed, Dunlin retries a card as if nothing were known, even if it was stolen, and never presents a bank debit again.</p>
${table(
  "Unknown decline codes",
  [
    {
      head: "Gateway",
      cell: ({ gateway }) => (gateway === null ? html`<span class="soft">not named</span>` : shownText(gateway)),
    },
    { head: "Code", cell: ({ code }) => html`<code>${shownText(code)}</code>` },
    { head: "Field", cell: ({ part }) => FIELD_WORDS[part] },
    { head: "Declines", cell: ({ declines }) => count(declines), numeric: true },
    { head: "Last seen", cell: ({ lastAt }) => moment(lastAt, zone) },
  ],
  rows,
)}
${unknown.length > rows.length && html`<p class="text">${count(unknown.length - rows.length)} less frequent codes are not shown.</p>`}
<h2>Rules for these codes</h2>
<p class="text">Your gateway's documentation says what a code means. To teach it to Dunlin, whoever runs Dunlin adds these lines to the file that <code>DUNLIN_RULES</code> names, and restarts it. Replace each <code>GROUP</code> with one of ${DECLINE_GROUPS.slice(0, -1).join(", ")}. Dunlin does not start while one is left. <a href="/docs/reference/rules.html">All that such a file may say</a>.</p>
${copyable("Rules", rulesText(rows, now))}`;
}

const FIELD_WORDS: Readonly<Record<UnknownCode["part"], string>> = {
  gatewayCodes: "Gateway code",
  responseCodes: "Network code",
  adviceCodes: "Advice code",
};

/** A whole file of rules. A code that can't be shown as it is can't be copied either, and is left out. */
function rulesText(rows: readonly UnknownCode[], now: Date): string {
  const rules = (part: UnknownCode["part"], rule: unknown) => {
    const found = rows.filter((row) => row.part === part && shownText(row.key) === row.key);
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
