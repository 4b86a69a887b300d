import { type Html, type HtmlPart, html, htmlText } from "./html.ts";
import { formatTime } from "./show/time-format.ts";
import type { Visit } from "./visit.ts";

const NAVIGATION = [
  ["/overview", "Overview", null],
  ["/actions", "Recovery actions", null],
  ["/invoices", "Invoices", null],
  ["/experiments", "Experiments", null],
  ["/deliveries", "Deliveries", null],
  ["/connection", "Connection", null],
  ["/requests", "Requests", null],
  ["/import", "Import", null],
  ["/backtest", "Backtest", null],
  ["/shadow", "Shadow mode", null],
  ["/decline_codes", "Decline codes", null],
] as const;
const ADMINISTRATION_NAVIGATION = [
  ["/settings/recovery", "Recovery settings", "experiments"],
  ["/settings/notifications", "Notifications", null],
  ["/settings/webhook", "Webhook", "webhook"],
  ["/org/api_keys", "API keys", "keys"],
  ["/org/members", "Members", "members"],
  ["/org/audit", "Audit log", "audit"],
] as const;

export interface Page {
  title: string;
  /** To the right of the title. */
  tools?: HtmlPart;
  body: Html;
  status?: number;
}

export function renderPage(page: Page, visit: Visit): string {
  const link = ([path, words, operation]: readonly [string, string, Parameters<Visit["may"]>[0] | null]) =>
    operation !== null && !visit.may(operation)
      ? null
      : html`<li><a href="${path}"${isCurrentPage(visit.path, path) ? html` aria-current="page"` : ""}>${words}</a></li>`;
  const { person, memberships, merchantId } = visit;
  const administration = ADMINISTRATION_NAVIGATION.map(link).filter((entry) => entry !== null);
  return renderDocument(
    page.title,
    html`
<a class="skip" href="#main">Skip to content</a>
<header class="rail">
<p class="name"><a href="/overview">Dunlin</a></p>
<p class="merchant">${visit.merchantName}</p>
${visit.clock.rate !== 1 && fastClockNotice(visit)}
<nav aria-label="Pages"><ul>${NAVIGATION.map(link)}</ul>
${administration.length > 0 && html`<h2>Administration</h2><ul>${administration}</ul>`}
<h2>Help</h2><ul><li><a href="/docs/">Documentation</a></li></ul></nav>
<div class="who">
${memberships.length > 1 && merchantSwitch(memberships, merchantId, visit)}
<p><a href="/account"${isCurrentPage(visit.path, "/account") ? html` aria-current="page"` : ""}>${person.name}</a><br><small>${visit.role}</small></p>
<form method="post" action="/sign-out"><button class="plain">Sign out</button></form>
</div>
</header>
<main id="main" tabindex="-1">
<div class="title"><h1>${page.title}</h1><div class="tools">${page.tools}<a class="chip" href="/account" title="Times are shown in this time zone">${person.zone}</a></div></div>
${page.body}
</main>
<dialog id="keys" aria-label="Keyboard shortcuts"><h2>Keyboard shortcuts</h2>
<dl class="facts"><div><dt><kbd>/</kbd></dt><dd>search or filter</dd></div><div><dt><kbd>j</kbd> <kbd>k</kbd></dt><dd>next and previous row</dd></div><div><dt><kbd>Enter</kbd></dt><dd>open the row</dd></div><div><dt><kbd>?</kbd></dt><dd>this list</dd></div></dl>
<form method="dialog"><button>Close</button></form></dialog>`,
    person.theme,
  );
}

const merchantSwitch = (memberships: Visit["memberships"], merchantId: string, visit: Visit): Html => html`
<form method="post" action="/merchant" class="switch"><label for="merchant">Merchant</label>
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
