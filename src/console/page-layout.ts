import { type Html, type HtmlPart, html, htmlText } from "./html.ts";
import { DUNLIN_MARK, type IconName, icon, PATTERNS } from "./show/icons.ts";
import { formatTime } from "./show/time-format.ts";
import type { Visit } from "./visit.ts";

type Entry = readonly [path: string, words: string, icon: IconName, operation: Parameters<Visit["may"]>[0] | null];

const NAVIGATION: readonly (readonly [heading: string | null, entries: readonly Entry[]])[] = [
  [
    null,
    [
      ["/overview", "Overview", "overview", null],
      ["/analytics", "Analytics", "analytics", null],
      ["/invoices", "Invoices", "invoices", null],
      ["/actions", "Recovery actions", "actions", null],
      ["/experiments", "Experiments", "experiments", null],
    ],
  ],
  [
    "Data",
    [
      ["/deliveries", "Deliveries", "deliveries", null],
      ["/connection", "Connection", "connection", null],
      ["/requests", "Requests", "history", null],
      ["/import", "Import", "import", null],
      ["/backtest", "Backtest", "history", null],
      ["/shadow", "Shadow mode", "history", null],
      ["/decline_codes", "Decline codes", "attention", null],
    ],
  ],
  [
    "Settings",
    [
      ["/settings/recovery", "Recovery settings", "settings", "experiments"],
      ["/settings/webhook", "Endpoint", "endpoint", "webhook"],
      ["/org/api_keys", "API keys", "key", "keys"],
      ["/org/members", "Members", "people", "members"],
      ["/org/audit", "Audit log", "book", "audit"],
    ],
  ],
  [null, [["/docs/", "Documentation", "book", null]]],
];

export interface Page {
  title: string;
  /** Beside the title. */
  tag?: HtmlPart;
  /** Above the title: where the page belongs. */
  crumb?: HtmlPart;
  /** To the right of the title. */
  tools?: HtmlPart;
  body: Html;
  status?: number;
}

export function renderPage(page: Page, visit: Visit): string {
  const { person, memberships, merchantId } = visit;
  const navigation = renderNavigation(visit);
  return renderDocument(
    page.title,
    html`
<a class="skip" href="#main">Skip to content</a>${PATTERNS}
<header class="topbar"><a class="mark" href="/overview">${DUNLIN_MARK}<span class="word">Dunlin</span></a><div>
<a class="button" href="/search" aria-label="Search">${icon("find")}</a>
<details class="drop end"><summary class="button" aria-label="Menu">${icon("menu")}</summary><div><nav aria-label="Menu">${navigation}<a href="/account">${icon("people")}<span class="word">${person.name}, ${visit.role}</span></a></nav></div></details>
</div></header>
<header class="rail"><div class="rail-in">
<a class="mark" href="/overview">${DUNLIN_MARK}<span class="word">Dunlin</span></a>
<p class="merchant">${visit.merchantName}</p>
${visit.clock.rate !== 1 && fastClockNotice(visit)}
<form class="find" role="search" action="/search" data-find>${icon("find")}<input name="q" type="search" placeholder="Find an id" aria-label="Find an invoice, customer, subscription or transaction by the start of its id"><kbd>/</kbd></form>
<nav aria-label="Pages"><a class="only-fold" href="/search">${icon("find")}<span class="word">Search</span></a>${navigation}</nav>
<div class="who"><div>
${memberships.length > 1 && merchantSwitch(memberships, merchantId, visit)}
<a href="/account"${isCurrentPage(visit.path, "/account") ? html` aria-current="page"` : ""} title="Times are shown in the zone ${person.zone}">${person.name}</a><small>${visit.role} · ${person.zone}</small></div>
<form method="post" action="/sign-out"><button class="plain">Sign out</button></form>
</div></div>
</header>
<main id="main" tabindex="-1">
<div class="head"><div>${page.crumb && html`<p class="crumb">${page.crumb}</p>`}<h1>${page.title}${page.tag && html` ${page.tag}`}</h1></div>${page.tools && html`<div class="tools">${page.tools}</div>`}</div>
${page.body}
</main>
<dialog id="keys" aria-label="Keyboard shortcuts"><h2>Keyboard shortcuts</h2>
<dl class="facts"><div><dt><kbd>/</kbd></dt><dd>search or filter</dd></div><div><dt><kbd>j</kbd> <kbd>k</kbd></dt><dd>next and previous row</dd></div><div><dt><kbd>Enter</kbd></dt><dd>open the row</dd></div><div><dt><kbd>?</kbd></dt><dd>this list</dd></div></dl>
<form method="dialog"><button>Close</button></form></dialog>`,
    person.theme,
  );
}

const renderNavigation = (visit: Visit): HtmlPart[] =>
  NAVIGATION.map(([heading, entries]) => {
    const links = entries
      .filter(([, , , operation]) => operation === null || visit.may(operation))
      .map(([path, words, name]) => {
        const current = isCurrentPage(visit.path, path) ? html` aria-current="page"` : "";
        return html`<a href="${path}"${current}>${icon(name)}<span class="word">${words}</span></a>\n`;
      });
    return links.length === 0 ? null : html`${heading !== null && html`<h2>${heading}</h2>`}${links}`;
  });

const merchantSwitch = (memberships: Visit["memberships"], merchantId: string, visit: Visit): Html => html`
<form method="post" action="/merchant" class="merchant-switch"><label for="merchant">Merchant</label>
<select id="merchant" name="merchant">${memberships.map((each) => html`<option value="${each.merchantId}"${each.merchantId === merchantId ? html` selected` : ""}>${each.name}</option>`)}</select>
<input type="hidden" name="next" value="${visit.path}"><button class="small">Switch</button></form>`;

const DAY_S = 86_400;

/** In a demo, times on pages differ from the reader's clock. */
function fastClockNotice({ clock: { now, rate }, person: { zone } }: Visit): Html {
  const seconds = DAY_S / rate;
  const [length, unit] =
    seconds < 120 ? [seconds, "s"] : seconds < 7200 ? [seconds / 60, "min"] : [seconds / 3600, "h"];
  return html`<p class="clock">Service time: ${formatTime(now, zone)}; one day takes ${Number(length.toFixed(1))} ${unit}.</p>`;
}

const isCurrentPage = (path: string, page: string) => path === page || path.startsWith(`${page}/`);

export const renderSignedOutPage = (title: string, body: Html): string =>
  renderDocument(
    title,
    html`<main id="main" class="bare"><p class="name">Dunlin</p><h1>${title}</h1>${body}</main>`,
    "system",
  );

const renderDocument = (title: string, body: Html, theme: string): string =>
  htmlText(html`<!doctype html>
<html lang="en" data-theme="${theme}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Dunlin</title>
<link rel="stylesheet" href="/console.css">
<link rel="icon" href="/console.svg" type="image/svg+xml">
<script type="module" src="/console.js"></script>
</head>
<body>${body}</body>
</html>
`);
