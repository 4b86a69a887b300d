import type { AlertKind, ChatWebhook } from "../domain/notice.ts";
import { prepared, type Tx } from "../postgres/database.ts";

const COLUMNS = `url, shown, alerts, created_at as "createdAt", answered_at as "answeredAt", answer, delivered`;

const FIND = prepared("find_chat_webhook", `select ${COLUMNS} from chat_webhooks where merchant_id = $1`);

export const findChatWebhook = async (tx: Tx, merchantId: string): Promise<ChatWebhook | null> =>
  (await tx.run<ChatWebhook>(FIND, [merchantId])).rows[0] ?? null;

const SAVE = prepared(
  "save_chat_webhook",
  `insert into chat_webhooks (merchant_id, url, shown, alerts, created_at) values ($1, $2, $3, $4, $5)
   on conflict (merchant_id) do update set url = excluded.url, shown = excluded.shown, alerts = excluded.alerts,
     answered_at = null, answer = null, delivered = null`,
);

/** The last answer belongs to the previous URL, so it is forgotten. */
export async function saveChatWebhook(
  tx: Tx,
  merchantId: string,
  { url, shown, alerts, createdAt }: Pick<ChatWebhook, "url" | "shown" | "alerts" | "createdAt">,
) {
  await tx.run(SAVE, [merchantId, url, shown, alerts, createdAt]);
}

const SET_ALERTS = prepared("set_chat_alerts", "update chat_webhooks set alerts = $2 where merchant_id = $1");

export async function setChatAlerts(tx: Tx, merchantId: string, alerts: readonly AlertKind[]) {
  await tx.run(SET_ALERTS, [merchantId, alerts]);
}

const DELETE = prepared("delete_chat_webhook", "delete from chat_webhooks where merchant_id = $1");

/** Returns whether there was one. */
export const deleteChatWebhook = async (tx: Tx, merchantId: string): Promise<boolean> =>
  (await tx.run(DELETE, [merchantId])).rowCount === 1;

const ANSWERED = prepared(
  "chat_answered",
  "update chat_webhooks set answered_at = $2, answer = $3, delivered = $4 where merchant_id = $1 and url = $5",
);

/** @param url  the encrypted URL that answered; another one is left alone */
export async function recordChatAnswer(
  tx: Tx,
  merchantId: string,
  { at, answer, delivered, url }: { at: Date; answer: string; delivered: boolean; url: Buffer },
) {
  await tx.run(ANSWERED, [merchantId, at, answer, delivered, url]);
}

const LIST_URLS = prepared(
  "list_chat_urls",
  `select merchant_id as "merchantId", url from chat_webhooks order by merchant_id`,
);

export interface SealedChatUrl {
  merchantId: string;
  url: Buffer;
}

export const listChatUrls = async (tx: Tx): Promise<SealedChatUrl[]> => (await tx.run<SealedChatUrl>(LIST_URLS)).rows;

const RESEAL = prepared("reseal_chat_url", "update chat_webhooks set url = $2 where merchant_id = $1");

export async function updateChatUrl(tx: Tx, { merchantId, url }: SealedChatUrl) {
  await tx.run(RESEAL, [merchantId, url]);
}
