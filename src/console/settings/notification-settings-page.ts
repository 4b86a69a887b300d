import {
  ALERT_KINDS,
  type AlertKind,
  type ChatWebhook,
  DIGEST_RHYTHMS,
  type DigestRhythm,
  NO_NOTICES,
} from "../../domain/notice.ts";
import { ALERT_LABELS } from "../../notices/notice-wording.ts";
import { formatLargeAmounts } from "../../notices/parse-large-amounts.ts";
import { writtenRhythm } from "../../notices/write-digest.ts";
import type { LargeAmount } from "../../tables/large-amounts.ts";
import type { StoredMemberNotices } from "../../tables/member-notices.ts";
import { type Html, type HtmlPart, html } from "../html.ts";
import type { Page } from "../page-layout.ts";
import { formButton, formField, formNotice, selectField } from "../show/form-fields.ts";
import { stateLabel } from "../show/state-labels.ts";
import { timeElement } from "../show/time-format.ts";
import type { Visit } from "../visit.ts";

export const NOTIFICATIONS_PATH = "/settings/notifications";

const RHYTHM_LABELS: Readonly<Record<DigestRhythm, string>> = {
  off: "Never",
  daily: "Every day",
  weekly: "Every week",
};
const WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const HOURS = Array.from({ length: 24 }, (_, hour) => hour);

const CONFIRMATIONS: Readonly<Record<string, string>> = {
  saved: "Saved.",
  removed: "The chat was removed. It gets no more messages.",
};

export interface NotificationSettings {
  own: StoredMemberNotices | null;
  chat: ChatWebhook | null;
  large: readonly LargeAmount[];
  canMail: boolean;
  /** From a refused form, or a test. */
  notice: HtmlPart;
  refusedLarge: RefusedLargeAmounts | null;
}

export interface RefusedLargeAmounts {
  /** As typed. */
  text: string;
  problem: string;
}

export function notificationPage(settings: NotificationSettings, visit: Visit): Page {
  const done = CONFIRMATIONS[visit.query.get("done") ?? ""];
  return {
    title: "Notifications",
    body: html`${done && formNotice("good", done)}${settings.notice}
<div class="columns"><section><h2>Your e-mails</h2>${ownForm(settings, visit)}</section>
<section><h2>Chat</h2>${visit.may("webhook") ? chatForms(settings.chat, visit) : html`<p class="text">A chat can get the alerts of ${visit.merchantName}. An owner, admin or developer sets it up here.</p>`}
<h2>Large invoices</h2>${visit.may("webhook") ? largeForm(settings) : html`<p class="text">${largeText(settings.large)}</p>`}
</section></div>`,
  };
}

const largeText = (large: readonly LargeAmount[]) =>
  large.length === 0 ? "No amount is set, so no invoice counts as large." : `At least ${formatLargeAmounts(large)}.`;

function ownForm({ own, canMail }: NotificationSettings, { person, merchantName }: Visit): Html {
  const { digest, digestWeekday, digestHour, alerts } = own ?? NO_NOTICES;
  return html`${!canMail && formNotice("warn", html`Dunlin has no mail server, so it sends no e-mails. The operator sets it with <code>DUNLIN_SMTP_URL</code> and <code>DUNLIN_MAIL_FROM</code>.`)}
<form method="post" action="${NOTIFICATIONS_PATH}" class="box">
<p>To ${person.email}, about ${merchantName}. Other members choose their own.</p>
${selectField(
  "Digest",
  "digest",
  DIGEST_RHYTHMS.map((each) => [each, RHYTHM_LABELS[each]] as const),
  digest,
)}
${selectField(
  "Day of a weekly digest",
  "weekday",
  WEEKDAYS.map((words, index) => [String(index + 1), words] as const),
  String(digestWeekday),
)}
${selectField(
  `Hour, in ${person.zone}`,
  "hour",
  HOURS.map((hour) => [String(hour), `${String(hour).padStart(2, "0")}:00`] as const),
  String(digestHour),
)}
<p class="soft">The digest shows recovered money against the time before, what needs attention, and new verdicts of experiments.${own?.digestSentAt && html` The last one was written on ${timeElement(own.digestSentAt, person.zone)}.`}</p>
${alertFields("Alerts by e-mail", alerts)}
<button class="main">Save</button></form>
${canMail && html`<div class="box"><p>Sends the digest of the last ${writtenRhythm(own) === "daily" ? "day" : "week"} to you now.${digest !== "off" && " The next one still comes at its time."}</p>${formButton(`${NOTIFICATIONS_PATH}/digest`, "Send one now")}</div>`}`;
}

const alertFields = (legend: string, alerts: readonly AlertKind[]): Html => html`
<fieldset><legend>${legend}</legend>${ALERT_KINDS.map((kind) => html`<label class="check"><input type="checkbox" name="alert" value="${kind}"${alerts.includes(kind) ? html` checked` : ""}> <span>${ALERT_LABELS[kind]}</span></label>`)}</fieldset>`;

function chatForms(chat: ChatWebhook | null, { person: { zone } }: Visit): Html {
  const hint = html`HTTPS, for a webhook that takes <code>{"text": …}</code> as Slack's does. ${chat ? `Leave it empty to keep ${chat.shown}. ` : ""}The URL is stored encrypted, and only its end is shown.`;
  return html`<form method="post" action="${NOTIFICATIONS_PATH}/chat" class="box">
${formField({ label: "URL", name: "url", type: "url", maxlength: 2048, required: chat === null, placeholder: chat?.shown ?? "https://chat.example.com/hooks/…", hint })}
${alertFields("Alerts in the chat", chat?.alerts ?? ALERT_KINDS)}
<button class="main">Save</button></form>
${chat && html`<div class="box"><p>${answerText(chat, zone)}</p>${formButton(`${NOTIFICATIONS_PATH}/chat/test`, "Send a test")} ${formButton(`${NOTIFICATIONS_PATH}/chat/remove`, "Remove the chat", {}, "danger")}</div>`}`;
}

function answerText({ answeredAt, answer, delivered }: ChatWebhook, zone: string): HtmlPart {
  if (answeredAt === null || answer === null) return "Nothing was sent to this chat yet.";
  return html`Last answer: ${stateLabel(answer, delivered ? "good" : "bad")} on ${timeElement(answeredAt, zone)}.`;
}

const largeForm = ({ large, refusedLarge }: NotificationSettings): Html => html`
<form method="post" action="${NOTIFICATIONS_PATH}/large" class="box">
${formField({ label: "Amounts", name: "amounts", value: refusedLarge?.text ?? formatLargeAmounts(large), problem: refusedLarge?.problem, maxlength: 1000, placeholder: "EUR 500, USD 600", hint: "An invoice is large from this amount on, in its currency. Without an amount, none is." })}
<button class="main">Save</button></form>`;
