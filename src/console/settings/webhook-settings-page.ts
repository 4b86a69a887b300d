import type { AllowedAddress } from "../../delivery/https/address-guard.ts";
import { EVENT_TYPES } from "../../domain/event.ts";
import type { Merchant } from "../../domain/merchant.ts";
import { type Html, type HtmlPart, html } from "../html.ts";
import type { Page } from "../page-layout.ts";
import { formButton, formField, formNotice, hiddenFields, selectField } from "../show/form-fields.ts";
import { ROTATION_OVERLAPS } from "../show/rotation-overlaps.ts";
import { toSpacedWords } from "../show/state-labels.ts";
import { copyableText } from "../show/table.ts";
import { timeElement } from "../show/time-format.ts";
import type { Visit } from "../visit.ts";

interface WebhookPageInput {
  merchant: Merchant;
  visit: Visit;
  problem: string | null;
  done: string | null;
  egressRanges: readonly string[];
  allow: readonly AllowedAddress[];
  secretVersion: string;
  now: Date;
}

const CONFIRMATIONS: Record<string, string> = {
  saved: "Saved. Send a test event to check that it works.",
  pause: "Paused. Events wait, and none are lost.",
  resume: "Resumed.",
  secret: "Webhooks are now sent without a signature.",
};

export function webhookPage({
  merchant,
  visit,
  problem,
  done,
  egressRanges,
  allow,
  secretVersion,
  now,
}: WebhookPageInput): Page {
  const notice = problem
    ? formNotice("bad", problem)
    : done && CONFIRMATIONS[done] && formNotice("good", CONFIRMATIONS[done]);
  return {
    title: "Webhook",
    body: html`${notice}
<p class="lead">${endpointStatus(merchant, visit.person.zone)}</p>
<p>Dunlin sends its instructions to this endpoint: when to retry a payment, pause your own retries, or give up.</p>
<div class="columns">
<section><h2>Endpoint</h2>${endpointForm(merchant, problem === null ? null : visit.form)}</section>
<section><h2>Test event</h2>
<form method="post" action="/settings/webhook/test" class="box">
<p>Dunlin sends it to the saved endpoint, marked <code>"test": true</code>, and does not log it.</p>
${selectField(
  "Type",
  "type",
  EVENT_TYPES.map((type) => [type, toSpacedWords(type)] as const),
  "pause_collection",
)}
<button>Send a test event</button></form>
<h2>Deliveries</h2>${pauseForm(merchant)}
<h2>Signature</h2>${secretForm(merchant, visit.person.zone, secretVersion, now)}
<h2>Source addresses</h2>${egressRangeList(egressRanges)}
<h2>Allowed destinations</h2>${allowedAddressList(allow)}
</section></div>`,
  };
}

function endpointStatus(merchant: Merchant, zone: string): HtmlPart {
  const { webhookUrl, webhookPaused, webhookPausedAt, webhookPausedBy, webhookFailingSince } = merchant;
  if (webhookUrl === null) return "No endpoint yet: Dunlin plans cases but sends no instructions";
  if (webhookPaused && webhookPausedBy === "dunlin")
    return html`Paused by Dunlin since ${timeElement(webhookPausedAt, zone)}: every attempt has failed since ${timeElement(webhookFailingSince, zone)}`;
  if (webhookPaused) return html`Paused by a person since ${timeElement(webhookPausedAt, zone)}`;
  if (webhookFailingSince) return html`Failing: every attempt since ${timeElement(webhookFailingSince, zone)}`;
  return "Active";
}

/** @param input  a refused form, without its secrets */
function endpointForm(merchant: Merchant, input: URLSearchParams | null): Html {
  const current =
    merchant.webhookAuth === null
      ? null
      : { bearer: "a bearer token", basic: "a user and password" }[merchant.webhookAuth];
  const auths: (readonly [string, string])[] = [
    ["bearer", "Bearer token"],
    ["basic", "User and password"],
  ];
  if (current) auths.unshift(["keep", `Unchanged: ${current}`]);
  return html`<form method="post" action="/settings/webhook" class="box">
${formField({ label: "URL", name: "url", type: "url", value: input?.get("url") ?? merchant.webhookUrl ?? "", required: true, maxlength: 2048, placeholder: "https://billing.example.com/dunlin", hint: "HTTPS, on a public address." })}
${selectField(
  "Paths",
  "paths",
  [
    ["one", "One URL for every type"],
    ["sub", "A path for each type: /recovery_action and so on"],
  ],
  input?.get("paths") ?? (merchant.webhookSubPaths ? "sub" : "one"),
)}
${selectField(
  "Body of a recovery action",
  "shape",
  [
    ["envelope", "Envelope: id, type, created, data"],
    ["flat", "Flat retry request"],
  ],
  input?.get("shape") ?? (merchant.webhookFlat ? "flat" : "envelope"),
)}
${selectField("Authentication", "auth", auths, input?.get("auth") ?? (current ? "keep" : "bearer"))}
<div class="of-bearer">${formField({ label: "Token", name: "token", type: "password", maxlength: 4096, autocomplete: "new-password" })}</div>
<div class="of-basic">${formField({ label: "User", name: "user", autocomplete: "off" })}
${formField({ label: "Password", name: "password", type: "password", autocomplete: "new-password" })}</div>
<p class="soft">Credentials are stored encrypted and never shown again.</p>
<button class="main">Save</button></form>`;
}

const pauseForm = ({ webhookPaused }: Merchant): Html =>
  webhookPaused
    ? html`<div class="box"><p>Events wait. When you resume deliveries, Dunlin sends them in the order in which they were created.</p>${formButton("/settings/webhook/resume", "Resume deliveries", {}, "main")}</div>`
    : html`<form method="post" action="/settings/webhook/pause" class="box">
${formField({ label: "Reason", name: "reason", maxlength: 200, hint: "For the audit log. No event is lost while deliveries are paused." })}
<button class="danger">Pause deliveries</button></form>`;

function secretForm(
  { webhookSecret, webhookOldSecret, webhookOldSecretUntil }: Merchant,
  zone: string,
  secretVersion: string,
  now: Date,
): Html {
  const isOverlapping = webhookOldSecret !== null && webhookOldSecretUntil !== null && webhookOldSecretUntil > now;
  return html`<div class="box">
<p>${webhookSecret === null ? "Requests are not signed." : "Every request carries the Standard Webhooks headers, signed with a secret."}${isOverlapping && html` The old secret also signs until ${timeElement(webhookOldSecretUntil, zone)}.`}</p>
<form method="post" action="/settings/webhook/secret">
${
  webhookSecret === null
    ? hiddenFields({ overlap: "now" })
    : selectField(
        "Old secret",
        "overlap",
        ROTATION_OVERLAPS.map(([value, words]) => [value, value === "now" ? words : `still signs ${words}`] as const),
        "24h",
      )
}
${hiddenFields({ mark: secretVersion })}<button>${webhookSecret === null ? "Sign with a new secret" : "Rotate the secret"}</button></form>
${webhookSecret !== null && html`<p>${formButton("/settings/webhook/secret/remove", "Stop signing", {}, "danger small")}</p>`}</div>`;
}

const allowedAddressList = (allow: readonly AllowedAddress[]): Html => html`
<p>Public addresses, over HTTPS. Dunlin checks the address when you save the URL and again at each connection, so it refuses a name that later resolves to an internal machine. It does not follow redirects.</p>
${
  allow.length === 0
    ? html`<p class="soft">Private addresses are not allowed. The operator can allow them with <code>DUNLIN_WEBHOOK_ALLOW</code>.</p>`
    : html`<p>The operator also allowed these addresses (<code>DUNLIN_WEBHOOK_ALLOW</code>), each at its port:</p>${copyableText("Allowed addresses", allow.map(({ range: [address, bits], port }) => `${address.toString()}/${bits} port ${port}`).join("\n"))}`
}`;

const egressRangeList = (ranges: readonly string[]): Html =>
  ranges.length === 0
    ? html`<p class="soft">Not set. The operator can set them with <code>DUNLIN_EGRESS_RANGES</code>.</p>`
    : html`<p>If your firewall filters by source, allow these addresses. A machine-readable list is at <a href="/network.json">/network.json</a>.</p>${copyableText("Address ranges", ranges.join("\n"))}`;
