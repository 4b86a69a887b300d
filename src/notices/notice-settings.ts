import type { AllowedAddress } from "../delivery/https/address-guard.ts";
import { findWebhookUrlProblem } from "../delivery/https/address-guard.ts";
import { checkWebhookHost } from "../delivery/https/check-webhook-host.ts";
import { formatMoneyText } from "../domain/currency.ts";
import type { AlertKind, ChatWebhook, MemberNotices } from "../domain/notice.ts";
import type { Actor, Person } from "../domain/person.ts";
import type { Ports } from "../domain/ports.ts";
import type { Database } from "../postgres/database.ts";
import { writeAuditEntry } from "../tables/audit-log.ts";
import {
  deleteChatWebhook,
  findChatWebhook,
  recordChatAnswer,
  saveChatWebhook,
  setChatAlerts,
} from "../tables/chat-webhooks.ts";
import { type LargeAmount, listLargeAmounts, replaceLargeAmounts } from "../tables/large-amounts.ts";
import { lockDigestsOf, saveMemberNotices, setDigestDue } from "../tables/member-notices.ts";
import { lockMerchant } from "../tables/merchants.ts";
import { ensureNoticeCheck } from "../tables/notice-incidents.ts";
import { type SecretKeys, seal } from "../tables/secret-box.ts";
import { type ChatAnswer, escapeChatText, type PostChat, shownChatUrl } from "./chat.ts";
import { nextDigestAt } from "./digest-time.ts";
import { describeTest } from "./notice-wording.ts";

/** Sets the mails that a member wants. Each decides for themselves, so the audit log has no entry. */
export async function setMemberNotices(
  db: Database,
  merchantId: string,
  { id, zone }: Pick<Person, "id" | "zone">,
  notices: MemberNotices,
  ports: Ports,
) {
  const now = ports.now();
  await db.transaction(async (tx) => {
    await saveMemberNotices(tx, merchantId, id, notices, nextDigestAt(notices, zone, now));
    if (notices.alerts.length > 0) await ensureNoticeCheck(tx, merchantId, now);
  });
}

/** After a person chose another time zone. @param db  sees all merchants */
export async function moveDigests(db: Database, { id, zone }: Pick<Person, "id" | "zone">, now: Date) {
  await db.transaction(async (tx) => {
    for (const { merchantId, ...notices } of await lockDigestsOf(tx, id))
      await setDigestDue(tx, merchantId, id, nextDigestAt(notices, zone, now));
  });
}

/** Explains why a chat's URL is refused; null if it is accepted. */
export async function findChatUrlProblem(url: string, allow: readonly AllowedAddress[]): Promise<string | null> {
  const problem = findWebhookUrlProblem(url, allow);
  if (problem) return problem;
  const finding = await checkWebhookHost(url, allow);
  return finding.verdict === "refused" ? finding.reason : null;
}

export interface ChatSettings {
  /** Accepted by `findChatUrlProblem`; null keeps the stored one. */
  url: string | null;
  alerts: readonly AlertKind[];
}

/** Returns false if there is no such merchant, or no stored URL to keep. */
export async function setChat(
  db: Database,
  merchantId: string,
  { url, alerts }: ChatSettings,
  { actor, secretKeys, ports }: { actor: Actor; secretKeys: SecretKeys; ports: Ports },
): Promise<boolean> {
  return db.transaction(async (tx) => {
    // A rotation of the secret key locks merchants too.
    if (!(await lockMerchant(tx, merchantId))) return false;
    const before = await findChatWebhook(tx, merchantId);
    if (url === null && before === null) return false;
    const shown = url === null ? before!.shown : shownChatUrl(url);
    if (url === null) await setChatAlerts(tx, merchantId, alerts);
    else {
      const sealed = seal(secretKeys, ports.randomBytes(12), url);
      await saveChatWebhook(tx, merchantId, { url: sealed, shown, alerts: [...alerts], createdAt: ports.now() });
    }
    await ensureNoticeCheck(tx, merchantId, ports.now());
    const details = {
      ...(url !== null && { url: `${before?.shown ?? "none"} → ${shown}` }),
      alerts: `${before?.alerts.join(", ") || "none"} → ${alerts.join(", ") || "none"}`,
    };
    await writeAuditEntry(tx, merchantId, actor, { operation: "chat.changed", object: shown, details }, ports);
    return true;
  });
}

/** Returns false if there was no chat. */
export const removeChat = (db: Database, merchantId: string, actor: Actor, ports: Ports): Promise<boolean> =>
  db.transaction(async (tx) => {
    const before = await findChatWebhook(tx, merchantId);
    if (!before || !(await deleteChatWebhook(tx, merchantId))) return false;
    await writeAuditEntry(tx, merchantId, actor, { operation: "chat.removed", object: before.shown }, ports);
    return true;
  });

/** Posts a test, and stores how the chat answered. Null without a chat. */
export async function testChat(
  db: Database,
  merchantId: string,
  merchantName: string,
  { postChat, consoleUrl, ports }: { postChat: PostChat; consoleUrl: string; ports: Ports },
): Promise<ChatAnswer | null> {
  const chat: ChatWebhook | null = await findChatWebhook(db, merchantId);
  if (!chat) return null;
  const { title, detail, href } = describeTest(merchantName);
  const result = await postChat(chat, escapeChatText(`${title}\n${detail}\n${consoleUrl}${href}`));
  await recordChatAnswer(db, merchantId, { ...result, at: ports.now(), url: chat.url });
  return result;
}

const amountsText = (amounts: readonly LargeAmount[]) =>
  amounts.map(({ amount, currency }) => formatMoneyText(amount, currency)).join(", ") || "none";

/** Returns false if there is no such merchant. @param amounts  at most one for each currency */
export const setLargeAmounts = (
  db: Database,
  merchantId: string,
  amounts: readonly LargeAmount[],
  actor: Actor,
  ports: Ports,
): Promise<boolean> =>
  db.transaction(async (tx) => {
    const merchant = await lockMerchant(tx, merchantId);
    if (!merchant) return false;
    const before = await listLargeAmounts(tx, merchantId);
    await replaceLargeAmounts(tx, merchantId, amounts);
    const details = { "large amounts": `${amountsText(before)} → ${amountsText(amounts)}` };
    await writeAuditEntry(
      tx,
      merchantId,
      actor,
      { operation: "merchant.changed", object: merchant.name, details },
      ports,
    );
    return true;
  });
