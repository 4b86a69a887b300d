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
  "read:explanations": "read explanations of invoices",
  "read:attention": "list what needs attention",
  "read:analytics": "read sums of recovery",
  "manage:recovery": "stop recovery, retry now, postpone retries",
  "read:recovery_rules": "read and test recovery rules",
  "manage:recovery_rules": "change recovery rules",
  "read:recovery_actions": "list recovery actions",
};

/** null without an expiry, or the problem as text. */
export function parseExpiry(form: URLSearchParams, zone: string, now: Date): Date | null | string {
  const chosen = form.get("expires") ?? "never";
  const date = form.get("date") ?? "";
  if (chosen !== "date" && date !== "")
    return "There is a date, but another expiry is selected. Choose “On the date below”, or clear the date.";
  if (chosen === "never") return null;
  const at = /^(30|90|365)$/.test(chosen)
    ? new Date(now.getTime() + Number(chosen) * DAY_MS)
    : parseDatetimeLocal(`${date}T00:00`, zone);
  return at === null || at <= now
    ? "The date must be in the future, up to 2199. For a key without an expiry, choose “Never”."
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
<p>Your programs need a key to push records and to list recovery actions. A key can never manage keys.</p>
${ending.map((key) => expiryNotice(key, successors.get(key.id), zone))}
${keys.length === 0 ? emptyNotice("No keys yet. When you create one, you get a command to try it.") : keyTable(keys, zone, now)}`,
  };
}

const endsSoon = ({ expiresAt }: ApiKey, now: Date) =>
  expiresAt !== null && expiresAt.getTime() - now.getTime() <= EXPIRY_WARNING_DAYS * DAY_MS;

/** A rotated key expires on purpose, so it matters only if still used. */
function expiryNotice(key: ApiKey, successor: ApiKey | undefined, zone: string): HtmlPart {
  const link = html`The key <a href="/org/api_keys/${key.id}">…${key.lastFour}</a> expires ${timeElement(key.expiresAt, zone)}`;
  if (!successor) return formNotice("warn", html`${link}. Rotate it before then.`);
  const isUsed = key.lastUsedAt !== null && key.lastUsedAt > successor.createdAt;
  return (
    isUsed &&
    formNotice("warn", html`${link}, but a program still uses it instead of the new key …${successor.lastFour}.`)
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
      { head: "Permissions", cell: ({ permissions }) => permissionLabels(permissions) },
      {
        head: "Created",
        cell: (key) => html`${timeElement(key.createdAt, zone)}<br><small>${key.createdBy ?? "command line"}</small>`,
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
  permissions.length === PERMISSIONS.length ? "all" : permissions.map((each) => PERMISSION_LABELS[each]).join(", ");

function keyState(key: ApiKey, zone: string, now: Date): Html {
  const { revokedAt, expiresAt } = key;
  if (revokedAt) return html`<span class="tag">revoked</span><br><small>${timeElement(revokedAt, zone)}</small>`;
  if (expiresAt === null) return html`<span class="tag good">active</span>`;
  const kind = expiresAt <= now ? "" : endsSoon(key, now) ? "warn" : "good";
  return html`<span class="tag ${kind}">${expiresAt <= now ? "expired" : "active until"}</span><br><small>${timeElement(expiresAt, zone)}</small>`;
}

/** @param id  of the new key, so that a form sent twice creates one key */
export const newKeyPage = ({ form }: Visit, id: string, problem: string | null): Page => ({
  title: "New API key",
  body: html`${problem && formNotice("bad", problem)}
<form method="post" action="/org/api_keys" class="box">
<fieldset><legend>Permissions</legend>${PERMISSIONS.map((permission) => html`<label class="check"><input type="checkbox" name="permission" value="${permission}"${form.getAll("permission").includes(permission) ? html` checked` : ""}> <span>${PERMISSION_LABELS[permission]} <small><code>${permission}</code></small></span></label>`)}</fieldset>
${selectField("Expires", "expires", EXPIRIES, form.get("expires") ?? "never")}
${formField({ label: "Date", name: "date", type: "date", value: form.get("date") ?? "", hint: "Only for “On the date below”. The key is refused from the start of this day." })}
${formField({ label: "Note", name: "note", value: form.get("note") ?? "", maxlength: 200, hint: "What the key is for and where it is stored." })}
${hiddenFields({ id })}<button class="main">Create the key</button>
</form>`,
});

/** The only page that shows a key. */
export function newKeySecretPage(
  { baseUrl, caPath }: ConsoleOptions,
  apiKey: string,
  rotated: { former: ApiKey; endsAt: Date | null; zone: string } | null,
): Page {
  const curl = `${curlCommand(caPath, apiKey)} "${baseUrl}/v1/recovery_actions?pageSize=2"`;
  return {
    title: "Your new API key",
    body: html`
${formNotice("warn", "The key is shown only once. Store it now: you cannot see it again, and a reload does not create another one.")}
${copyableText("API key", apiKey)}
${rotated && html`<p>The old key …${rotated.former.lastFour} ${rotated.endsAt === null ? "no longer works" : html`still works until ${timeElement(rotated.endsAt, rotated.zone, "second")}`}.</p>`}
<h2>Try it</h2>
${copyableText("Command", curl)}
<p class="soft">A 200 with a list means that the key works. A 403 means that it has no permission to list recovery actions.</p>
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
  [
    "Permissions",
    key.permissions.map((each) => html`${PERMISSION_LABELS[each]} <small><code>${each}</code></small><br>`),
  ],
  ["Created", html`${timeElement(key.createdAt, zone)} by ${key.createdBy ?? "the command line"}`],
  [
    "Last used",
    usedMs === null
      ? "never"
      : html`${timeElement(key.lastUsedAt, zone, "second")} <span class="soft">${formatDuration(usedMs)} ago</span>`,
  ],
  former ? ["Replaces", link(former)] : null,
  successor ? ["Replaced by", link(successor)] : null,
])}
${
  isValidAt(key, now) &&
  html`
<div class="columns">${
    !successor &&
    html`<section><h2>Rotate</h2>
${usedMs !== null && usedMs < HOUR_MS && formNotice("warn", "The key was used within the last hour. Choose an overlap, so that your programs have time to switch.")}
<form method="post" action="/org/api_keys/${key.id}/rotate" class="box">
<fieldset><legend>Current key</legend>${ROTATION_OVERLAPS.map(([value, words]) => html`<label class="check"><input type="radio" name="overlap" value="${value}"${value === "24h" ? html` checked` : ""}> <span>${value === "now" ? "stops working now" : `still works ${words}`}</span></label>`)}</fieldset>
${hiddenFields({ id })}<button class="main">Create the new key</button></form></section>`
  }
<section><h2>Revoke</h2>
<form method="post" action="/org/api_keys/${key.id}/revoke" class="box">
<p>The key is refused for good, everywhere within a second.</p>
${formField({ label: "Last four characters of the key", name: "confirm", maxlength: 4, required: true })}
<button class="danger">Revoke</button></form></section></div>`
}`,
  };
}
