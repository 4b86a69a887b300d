import { ALERT_KINDS, type AlertKind, DIGEST_RHYTHMS, type MemberNotices } from "../../domain/notice.ts";
import {
  findChatUrlProblem,
  removeChat,
  setChat,
  setLargeAmounts,
  setMemberNotices,
  testChat,
} from "../../notices/notice-settings.ts";
import { parseLargeAmounts } from "../../notices/parse-large-amounts.ts";
import { sendDigestNow } from "../../notices/write-digest.ts";
import { findChatWebhook } from "../../tables/chat-webhooks.ts";
import { listLargeAmounts } from "../../tables/large-amounts.ts";
import { findMemberNotices } from "../../tables/member-notices.ts";
import { type Console, redirectTo } from "../console.ts";
import type { HtmlPart } from "../html.ts";
import { PageError } from "../page-error.ts";
import type { Page } from "../page-layout.ts";
import { formNotice } from "../show/form-fields.ts";
import type { Visit } from "../visit.ts";
import { NOTIFICATIONS_PATH, notificationPage, type RefusedLargeAmounts } from "./notification-settings-page.ts";

export function notificationRoutes(console: Console) {
  const { ports, allow, secretKeys, postChat, authUrl, mailer } = console;
  const show = (visit: Visit, notice: HtmlPart = null) => showSettings(console, visit, notice);
  const refuse = async (visit: Visit, problem: string): Promise<Page> => ({
    ...(await show(visit, formNotice("bad", problem))),
    status: 400,
  });
  const redirect = ({ reply }: Visit, done: string) => redirectTo(reply, `${NOTIFICATIONS_PATH}?done=${done}`);

  console.page(NOTIFICATIONS_PATH, null, (visit) => show(visit));
  console.post(NOTIFICATIONS_PATH, null, async (visit) => {
    await setMemberNotices(visit.db, visit.merchantId, visit.person, readOwn(visit.form), ports);
    return redirect(visit, "saved");
  });
  console.post(`${NOTIFICATIONS_PATH}/digest`, null, async (visit) => {
    if (mailer === null) return refuse(visit, "No digest was sent, because Dunlin has no mail server.");
    const { db, merchantId, person, reply } = visit;
    const problem = await sendDigestNow(db, merchantId, person, { mailer, ports, consoleUrl: authUrl });
    if (problem === null) return show(visit, formNotice("good", `The digest was sent to ${person.email}.`));
    // The server's message may contain the person's address.
    reply.log.warn({ problem: problem.split(" (")[0] }, "mail.failed");
    return show(visit, formNotice("bad", `The digest was not sent: ${problem}.`));
  });
  console.post(`${NOTIFICATIONS_PATH}/chat`, "webhook", async (visit) => {
    const { db, merchantId, form, actor } = visit;
    const url = (form.get("url") ?? "").trim() || null;
    const problem = url && (await findChatUrlProblem(url, allow));
    if (problem) return refuse(visit, `The URL: ${problem.replace(/^the URL/, "it")}.`);
    const isSet = await setChat(db, merchantId, { url, alerts: readAlerts(form) }, { actor, secretKeys, ports });
    return isSet ? redirect(visit, "saved") : refuse(visit, "Enter the URL of the chat.");
  });
  console.post(`${NOTIFICATIONS_PATH}/chat/remove`, "webhook", async (visit) => {
    await removeChat(visit.db, visit.merchantId, visit.actor, ports);
    return redirect(visit, "removed");
  });
  console.post(`${NOTIFICATIONS_PATH}/chat/test`, "webhook", async (visit) => {
    const service = { postChat, consoleUrl: authUrl, ports };
    const tested = await testChat(visit.db, visit.merchantId, visit.merchantName, service);
    if (tested === null) return refuse(visit, "Set the chat before you send a test.");
    if (tested.delivered) return show(visit, formNotice("good", "The chat accepted the test."));
    return show(visit, formNotice("bad", `The chat did not accept the test: ${tested.answer}.`));
  });
  console.post(`${NOTIFICATIONS_PATH}/large`, "webhook", async (visit) => {
    const text = visit.form.get("amounts") ?? "";
    const amounts = parseLargeAmounts(text);
    if (typeof amounts === "string")
      return { ...(await showSettings(console, visit, null, { text, problem: amounts })), status: 400 };
    await setLargeAmounts(visit.db, visit.merchantId, amounts, visit.actor, ports);
    return redirect(visit, "saved");
  });
}

async function showSettings(
  { mailer }: Console,
  visit: Visit,
  notice: HtmlPart,
  refusedLarge: RefusedLargeAmounts | null = null,
): Promise<Page> {
  const { db, merchantId, person } = visit;
  const [own, chat, large] = await Promise.all([
    findMemberNotices(db, merchantId, person.id),
    findChatWebhook(db, merchantId),
    listLargeAmounts(db, merchantId),
  ]);
  return notificationPage({ own, chat, large, canMail: mailer !== null, notice, refusedLarge }, visit);
}

const readAlerts = (form: URLSearchParams): AlertKind[] => {
  const chosen = form.getAll("alert");
  return ALERT_KINDS.filter((kind) => chosen.includes(kind));
};

function readOwn(form: URLSearchParams): MemberNotices {
  const digest = DIGEST_RHYTHMS.find((each) => each === form.get("digest"));
  // `Number("")` is 0, which is an hour.
  const [digestWeekday, digestHour] = ["weekday", "hour"].map((name) => Number(form.get(name) || Number.NaN)) as [
    number,
    number,
  ];
  const isDay = Number.isInteger(digestWeekday) && digestWeekday >= 1 && digestWeekday <= 7;
  const isHour = Number.isInteger(digestHour) && digestHour >= 0 && digestHour <= 23;
  if (!digest || !isDay || !isHour)
    throw new PageError(400, "Choose how often the digest comes, its day and its hour.");
  return { digest, digestWeekday, digestHour, alerts: readAlerts(form) };
}
