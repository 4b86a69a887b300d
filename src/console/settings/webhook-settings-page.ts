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
  /** Which form was sent before. */
  done: string | null;
  egressRanges: readonly string[];
  /** Private addresses that webhooks may be sent to. */
  allow: readonly AllowedAddress[];
  /** Of the present secret. */
  mark: string;
  now: Date;
}

const CONFIRMATIONS: Record<string, string> = {
  saved: "Saved. Send a test event to see that it works.",
  pause: "Paused. Events wait, and nothing is lost.",
  resume: "Resumed.",
  secret: "Webhooks go out without a signature from now on.",
};

export function webhookPage({
  merchant,
  visit,
  problem,
  done,
  egressRanges,
  allow,
  mark,
  now,
}: WebhookPageInput): Page {
  const says = problem
    ? formNotice("bad", problem)
    : done && CONFIRMATIONS[done] && formNotice("good", CONFIRMATIONS[done]);
  return {
    title: "Webhook",
    body: html`${says}
<p class="lead">${endpointStatus(merchant, visit.person.zone)}</p>
<p>Dunlin posts its instructions to this endpoint of yours: when to retry a payment, when to pause your own retries, when to give up.</p>
<div class="columns">
<section><h2>Endpoint</h2>${endpointForm(merchant, problem === null ? null : visit.form)}</section>
<section><h2>Test event</h2>
<form method="post" action="/settings/webhook/test" class="card">
<p>Sent to the endpoint as it is saved, marked <code>"test": true</code>, and kept in no log.</p>
${selectField(
  "Type",
  "type",
  EVENT_TYPES.map((type) => [type, toSpacedWords(type)] as const),
  "pause_collection",
)}
<button>Send a test event</button></form>
<h2>Deliveries</h2>${pauseForm(merchant)}
<h2>Signature</h2>${secretForm(merchant, visit.person.zone, mark, now)}
<h2>Where requests come from</h2>${egressRangeList(egressRanges)}
<h2>Where requests may go</h2>${allowedAddressList(allow)}
</section></div>`,
  };
}

function endpointStatus(merchant: Merchant, zone: string): HtmlPart {
  const { webhookUrl, webhookPaused, webhookPausedAt, webhookPausedBy, webhookFailingSince } = merchant;
  if (webhookUrl === null) return "No endpoint yet: cases are planned, and no instruction goes out";
  if (webhookPaused && webhookPausedBy === "dunlin")
    return html`Paused by Dunlin since ${timeElement(webhookPausedAt, zone)}: every attempt has failed since ${timeElement(webhookFailingSince, zone)}`;
  if (webhookPaused) return html`Paused by a person since ${timeElement(webhookPausedAt, zone)}`;
  if (webhookFailingSince) return html`Failing: every attempt since ${timeElement(webhookFailingSince, zone)}`;
  return "Active";
}

/** @param typed  what was sent and refused, to be mended; secrets are typed anew */
function endpointForm(merchant: Merchant, typed: URLSearchParams | null): Html {
  const has =
    merchant.webhookAuth === null
      ? null
      : { bearer: "a bearer token", basic: "a user and password" }[merchant.webhookAuth];
  const auths: (readonly [string, string])[] = [
    ["bearer", "Bearer token"],
    ["basic", "User and password"],
  ];
  if (has) auths.unshift(["keep", `As it is: ${has}`]);
  return html`<form method="post" action="/settings/webhook" class="card">
${formField({ label: "URL", name: "url", type: "url", value: typed?.get("url") ?? merchant.webhookUrl ?? "", required: true, maxlength: 2048, placeholder: "https://billing.example.com/dunlin", hint: "HTTPS, on a public address." })}
${selectField(
  "Paths",
  "paths",
  [
    ["one", "One URL for every type"],
    ["sub", "A path for each type: /recovery_action and so on"],
  ],
  typed?.get("paths") ?? (merchant.webhookSubPaths ? "sub" : "one"),
)}
${selectField(
  "Body of a recovery action",
  "shape",
  [
    ["envelope", "Envelope: id, type, created, data"],
    ["flat", "Flat retry request"],
  ],
  typed?.get("shape") ?? (merchant.webhookFlat ? "flat" : "envelope"),
)}
${selectField("The endpoint recognizes Dunlin by", "auth", auths, typed?.get("auth") ?? (has ? "keep" : "bearer"))}
<div class="of-bearer">${formField({ label: "Token", name: "token", type: "password", maxlength: 4096, autocomplete: "new-password" })}</div>
<div class="of-basic">${formField({ label: "User", name: "user", autocomplete: "off" })}
${formField({ label: "Password", name: "password", type: "password", autocomplete: "new-password" })}</div>
<p class="soft">Credentials are stored encrypted and never shown again.</p>
<button class="main">Save</button></form>`;
}

const pauseForm = ({ webhookPaused }: Merchant): Html =>
  webhookPaused
    ? html`<div class="card"><p>Events wait. When deliveries resume, they go out in the order of their making.</p>${formButton("/settings/webhook/resume", "Resume deliveries", {}, "main")}</div>`
    : html`<form method="post" action="/settings/webhook/pause" class="card">
${formField({ label: "Reason", name: "reason", maxlength: 200, hint: "For the audit log. Nothing is lost while deliveries are paused." })}
<button class="danger">Pause deliveries</button></form>`;

function secretForm(
  { webhookSecret, webhookOldSecret, webhookOldSecretUntil }: Merchant,
  zone: string,
  mark: string,
  now: Date,
): Html {
  const isOverlapping = webhookOldSecret !== null && webhookOldSecretUntil !== null && webhookOldSecretUntil > now;
  return html`<div class="card">
<p>${webhookSecret === null ? "Requests are not signed." : "Every request carries the Standard Webhooks headers, signed by a secret."}${isOverlapping && html` The former secret signs too until ${timeElement(webhookOldSecretUntil, zone)}.`}</p>
<form method="post" action="/settings/webhook/secret">
${
  webhookSecret === null
    ? hiddenFields({ overlap: "now" })
    : selectField(
        "The former secret",
        "overlap",
        ROTATION_OVERLAPS.map(([value, words]) => [value, value === "now" ? words : `still signs ${words}`] as const),
        "24h",
      )
}
${hiddenFields({ mark })}<button>${webhookSecret === null ? "Sign with a new secret" : "Rotate the secret"}</button></form>
${webhookSecret !== null && html`<p>${formButton("/settings/webhook/secret/remove", "Stop signing", {}, "danger small")}</p>`}</div>`;
}

const allowedAddressList = (allow: readonly AllowedAddress[]): Html => html`
<p>To public addresses, over HTTPS. An address is checked when the URL is saved and again at each connection, so a name that later leads to an internal machine is refused; redirects are not followed.</p>
${
  allow.length === 0
    ? html`<p class="soft">Private addresses are out of reach: the operator would name them in <code>DUNLIN_WEBHOOK_ALLOW</code>.</p>`
    : html`<p>The operator allowed these beside them (<code>DUNLIN_WEBHOOK_ALLOW</code>), each at its port:</p>${copyableText("Allowed addresses", allow.map(({ range: [address, bits], port }) => `${address.toString()}/${bits} port ${port}`).join("\n"))}`
}`;

const egressRangeList = (ranges: readonly string[]): Html =>
  ranges.length === 0
    ? html`<p class="soft">Nobody has set them: the operator does with <code>DUNLIN_EGRESS_RANGES</code>.</p>`
    : html`<p>Let these through, if your endpoint asks who calls. Programs read <a href="/network.json">/network.json</a>.</p>${copyableText("Address ranges", ranges.join("\n"))}`;
