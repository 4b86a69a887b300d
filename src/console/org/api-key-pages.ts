import { isValidAt } from "../../auth/api-keys.ts";
import { DAY_MS, HOUR_MS } from "../../domain/durations.ts";
import { PERMISSIONS, type Permission } from "../../domain/permission.ts";
import type { ApiKey } from "../../tables/api-keys.ts";
import type { ConsoleOptions } from "../console.ts";
import { type Html, type HtmlPart, html } from "../html.ts";
import type { Page } from "../page-layout.ts";
import { curlCommand } from "../show/curl-commands.ts";
import { formField, formNotice, hiddenFields, selectField } from "../show/form-fields.ts";
import { ROTATION_OVERLAPS } from "../show/rotation-overlaps.ts";
import { copyableText, emptyNotice, factList, table } from "../show/table.ts";
import { formatDuration, parseDatetimeLocal, timeElement } from "../show/time-format.ts";
import type { Visit } from "../visit.ts";

const UNUSED_DAYS = 90;
const EXPIRY_WARNING_DAYS = 7;

const EXPIRIES = [
  ["never", "Never"],
  ["30", "In 30 days"],
  ["90", "In 90 days"],
  ["365", "In 365 days"],
  ["date", "On the date below"],
] as const;

const PERMISSION_LABELS: Record<Permission, string> = {
  "ingest:subscriptions": "push subscriptions",
  "ingest:invoices": "push invoices",
  "ingest:transactions": "push transactions",
  "read:recovery_actions": "list recovery actions",
};

/** When a new key ends, as a form says it; null: never; or what is wrong with it. */
export function parseExpiry(form: URLSearchParams, zone: string, now: Date): Date | null | string {
  const chosen = form.get("expires") ?? "never";
  const date = form.get("date") ?? "";
  if (chosen !== "date" && date !== "")
    return "A date is given, but not chosen: choose “On the date below”, or leave the date out.";
  if (chosen === "never") return null;
  const at = /^(30|90|365)$/.test(chosen)
    ? new Date(now.getTime() + Number(chosen) * DAY_MS)
    : parseDatetimeLocal(`${date}T00:00`, zone);
  return at === null || at <= now
    ? "The end must be a date that lies ahead, up to 2199: a key without an end ends “Never”."
    : at;
}

export function keysPage(all: readonly ApiKey[], { person: { zone } }: Visit, now: Date): Page {
  const keys = [...all].reverse();
  const active = keys.filter((key) => isValidAt(key, now));
  const since = ({ lastUsedAt, createdAt }: ApiKey) => now.getTime() - (lastUsedAt ?? createdAt).getTime();
  const unused = active.filter((key) => since(key) > UNUSED_DAYS * DAY_MS).length;
  const ending = active.filter((key) => endsSoon(key, now));
  const successors = new Map(all.filter(({ revokedAt }) => revokedAt === null).map((key) => [key.replaces, key]));
  return {
    title: "API keys",
    tools: html`<a class="button main" href="/org/api_keys/new">New key</a>`,
    body: html`
<p class="lead">${active.length} active ${active.length === 1 ? "key" : "keys"}${unused > 0 && html`, ${unused} unused for ${UNUSED_DAYS} days`}</p>
<p>Programs of yours show a key to push records and to list recovery actions. A key can never manage keys.</p>
${ending.map((key) => expiryNotice(key, successors.get(key.id), zone))}
${keys.length === 0 ? emptyNotice("No key yet. Make one, and the page shows a command to try it.") : keyTable(keys, zone, now)}`,
  };
}

const endsSoon = ({ expiresAt }: ApiKey, now: Date) =>
  expiresAt !== null && expiresAt.getTime() - now.getTime() <= EXPIRY_WARNING_DAYS * DAY_MS;

/** A key that was rotated ends because somebody wanted it to: that matters only while it is still used. */
function expiryNotice(key: ApiKey, successor: ApiKey | undefined, zone: string): HtmlPart {
  const link = html`The key <a href="/org/api_keys/${key.id}">…${key.lastFour}</a> ends ${timeElement(key.expiresAt, zone)}`;
  if (!successor) return formNotice("warn", html`${link}. Rotate it before.`);
  const isUsed = key.lastUsedAt !== null && key.lastUsedAt > successor.createdAt;
  return (
    isUsed &&
    formNotice(
      "warn",
      html`${link}, and was used since …${successor.lastFour} took its place: somebody has not changed over.`,
    )
  );
}

const keyTable = (keys: readonly ApiKey[], zone: string, now: Date) =>
  table(
    "API keys",
    [
      {
        head: "Key",
        cell: (key) =>
          html`<a href="/org/api_keys/${key.id}"><code>${key.prefix}…${key.lastFour}</code></a>${key.note && html`<br><small>${key.note}</small>`}`,
      },
      { head: "May", cell: ({ permissions }) => permissionLabels(permissions) },
      {
        head: "Made",
        cell: (key) => html`${timeElement(key.createdAt, zone)}<br><small>${key.madeBy ?? "command line"}</small>`,
      },
      {
        head: "Last used",
        cell: ({ lastUsedAt }) =>
          lastUsedAt === null ? html`<span class="soft">never</span>` : timeElement(lastUsedAt, zone),
      },
      { head: "State", cell: (key) => keyState(key, zone, now) },
    ],
    keys,
  );

const permissionLabels = (permissions: readonly Permission[]): HtmlPart =>
  permissions.length === PERMISSIONS.length
    ? "everything"
    : permissions.map((each) => PERMISSION_LABELS[each]).join(", ");

function keyState(key: ApiKey, zone: string, now: Date): Html {
  const { revokedAt, expiresAt } = key;
  if (revokedAt) return html`<span class="state">revoked</span><br><small>${timeElement(revokedAt, zone)}</small>`;
  if (expiresAt === null) return html`<span class="state good">active</span>`;
  const kind = expiresAt <= now ? "" : endsSoon(key, now) ? "warn" : "good";
  return html`<span class="state ${kind}">${expiresAt <= now ? "ended" : "active until"}</span><br><small>${timeElement(expiresAt, zone)}</small>`;
}

/** @param id  of the key that will be made: sent twice, the form makes one key */
export const newKeyPage = ({ form }: Visit, id: string, problem: string | null): Page => ({
  title: "New API key",
  body: html`${problem && formNotice("bad", problem)}
<form method="post" action="/org/api_keys" class="card">
<fieldset><legend>It may</legend>${PERMISSIONS.map((permission) => html`<label class="check"><input type="checkbox" name="permission" value="${permission}"${form.getAll("permission").includes(permission) ? html` checked` : ""}> <span>${PERMISSION_LABELS[permission]} <small><code>${permission}</code></small></span></label>`)}</fieldset>
${selectField("It ends", "expires", EXPIRIES, form.get("expires") ?? "never")}
${formField({ label: "Date", name: "date", type: "date", value: form.get("date") ?? "", hint: "Only for “on the date below”: from the first moment of this day on the key is refused." })}
${formField({ label: "Note", name: "note", value: form.get("note") ?? "", maxlength: 200, hint: "What it is for and where it lives, for whoever reads the list later." })}
${hiddenFields({ id })}<button class="main">Make the key</button>
</form>`,
});

/** The one page that ever shows a key. */
export function newKeySecretPage(
  { baseUrl, caPath }: ConsoleOptions,
  apiKey: string,
  rotated: { former: ApiKey; endsAt: Date | null; zone: string } | null,
): Page {
  const curl = `${curlCommand(caPath, apiKey)} "${baseUrl}/v1/recovery_actions?pageSize=2"`;
  return {
    title: "The new key",
    body: html`
${formNotice("warn", "This is the only time that the key is shown. Store it now: a reload shows it no more, and makes no second one.")}
${copyableText("API key", apiKey)}
${rotated && html`<p>The former key …${rotated.former.lastFour} ${rotated.endsAt === null ? "is refused from now on" : html`still works until ${timeElement(rotated.endsAt, rotated.zone, "second")}, and is refused from then on`}.</p>`}
<h2>Try it</h2>
${copyableText("Command", curl)}
<p class="soft">A 200 with a list means that it works; 403 that the key may not list recovery actions.</p>
<p><a class="button main" href="/org/api_keys">I stored it</a></p>`,
  };
}

export function keyPage(key: ApiKey, all: readonly ApiKey[], { person: { zone } }: Visit, now: Date, id: string): Page {
  const usedMs = key.lastUsedAt === null ? null : now.getTime() - key.lastUsedAt.getTime();
  const former = all.find((each) => each.id === key.replaces);
  const successor = all.find((each) => each.replaces === key.id && each.revokedAt === null);
  const link = (other: ApiKey) => html`<a href="/org/api_keys/${other.id}"><code>…${other.lastFour}</code></a>`;
  return {
    title: key.note ?? "API key",
    body: html`
${factList([
  ["Key", html`<code>${key.prefix}…${key.lastFour}</code>`],
  ["State", keyState(key, zone, now)],
  ["May", key.permissions.map((each) => html`${PERMISSION_LABELS[each]} <small><code>${each}</code></small><br>`)],
  ["Made", html`${timeElement(key.createdAt, zone)} by ${key.madeBy ?? "the command line"}`],
  [
    "Last used",
    usedMs === null
      ? "never"
      : html`${timeElement(key.lastUsedAt, zone, "second")} <span class="soft">${formatDuration(usedMs)} ago</span>`,
  ],
  former ? ["In place of", link(former)] : null,
  successor ? ["Replaced by", link(successor)] : null,
])}
${
  isValidAt(key, now) &&
  html`
<div class="columns">${
    !successor &&
    html`<section><h2>Rotate</h2>
${usedMs !== null && usedMs < HOUR_MS && formNotice("warn", "The key was used within the last hour: give its user time to change over.")}
<form method="post" action="/org/api_keys/${key.id}/rotate" class="card">
<fieldset><legend>The present key</legend>${ROTATION_OVERLAPS.map(([value, words]) => html`<label class="check"><input type="radio" name="overlap" value="${value}"${value === "24h" ? html` checked` : ""}> <span>${value === "now" ? "ends now" : `still works ${words}`}</span></label>`)}</fieldset>
${hiddenFields({ id })}<button class="main">Make the next key</button></form></section>`
  }
<section><h2>Revoke</h2>
<form method="post" action="/org/api_keys/${key.id}/revoke" class="card">
<p>From then on it is refused for good, everywhere within a second.</p>
${formField({ label: "The last four characters of the key", name: "confirm", maxlength: 4, required: true })}
<button class="danger">Revoke</button></form></section></div>`
}`,
  };
}
