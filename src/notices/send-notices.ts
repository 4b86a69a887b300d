import type { Mail } from "../auth/mail.ts";
import { HOUR_MS, MINUTE_MS } from "../domain/durations.ts";
import { findChatWebhook, recordChatAnswer } from "../tables/chat-webhooks.ts";
import { deferNotice, deleteNotice, type LeasedNotice, leaseNotice } from "../tables/notices.ts";
import { escapeChatText } from "./chat.ts";
import type { NoticeService } from "./notice-service.ts";

/** In real time. Longer than a mail server or a chat may take. */
const LEASE_MS = 2 * MINUTE_MS;
/** After each failed attempt. A day later a notice is useless. */
const RETRY_DELAYS_MS = [MINUTE_MS, 5 * MINUTE_MS, 15 * MINUTE_MS, HOUR_MS, 3 * HOUR_MS, 6 * HOUR_MS, 12 * HOUR_MS];

/**
 * Sends the notice that is due first. If the process dies between sending and recording, the notice is sent again after its
 * lease.
 *
 * @returns whether one was due
 */
export async function sendNextNotice(service: NoticeService): Promise<boolean> {
  const { db, ports, log } = service;
  const now = ports.realNow();
  const notice = await leaseNotice(db, now, new Date(now.getTime() + LEASE_MS));
  if (!notice) return false;
  const problem = notice.personId === null ? await sendToChat(service, notice) : await sendMail(service, notice);
  const { merchantId, id, attempts } = notice;
  if (problem === null) {
    await deleteNotice(db, notice);
    return true;
  }
  const delayMs = RETRY_DELAYS_MS[attempts - 1];
  if (delayMs === undefined) await deleteNotice(db, notice);
  else await deferNotice(db, notice, new Date(ports.realNow().getTime() + delayMs));
  log.warn({ merchantId, id, attempts, why: problem }, delayMs === undefined ? "notice.given_up" : "notice.failed");
  return true;
}

/** Null if it was sent, or has no reader any more. */
async function sendMail({ mailer }: NoticeService, notice: LeasedNotice): Promise<string | null> {
  if (notice.email === null) return null;
  return mailer === null ? "DUNLIN_SMTP_URL is not set" : mailer.send(toMail(notice.email, notice));
}

async function sendToChat({ tenantDb, ports, postChat }: NoticeService, notice: LeasedNotice): Promise<string | null> {
  const db = tenantDb.of(notice.merchantId);
  const chat = await findChatWebhook(db, notice.merchantId);
  if (!chat) return null;
  const result = await postChat(chat, escapeChatText(`${notice.subject}\n${notice.body}`));
  await recordChatAnswer(db, notice.merchantId, { ...result, at: ports.now(), url: chat.url });
  return result.delivered ? null : result.answer;
}

/** Mail servers and filters treat mails without an HTML part as less trustworthy than simple ones. */
export const toMail = (to: string, { subject, body }: Pick<LeasedNotice, "subject" | "body">): Mail => ({
  to,
  subject,
  text: `${body}\n`,
  html: body.split("\n\n").map(toParagraph).join("\n"),
  headers: { "Auto-Submitted": "auto-generated" },
});

const toParagraph = (text: string) =>
  `<p>${escapeChatText(text)
    .replaceAll('"', "&quot;")
    .replace(/https:\/\/[^\s&<]+(?:&amp;[^\s&<]+)*/g, (url) => `<a href="${url}">${url}</a>`)
    .replaceAll("\n", "<br>\n")}</p>`;
