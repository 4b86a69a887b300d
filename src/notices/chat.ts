import { redactSecrets } from "../delivery/https/credential.ts";
import { isSuccess } from "../delivery/https/exchange.ts";
import { createSender, type Send, type SenderOptions } from "../delivery/https/https-sender.ts";
import type { ChatWebhook } from "../domain/notice.ts";
import { type SecretKeys, UnreadableSecret, unseal } from "../tables/secret-box.ts";

/** How a chat answered. */
export interface ChatAnswer {
  delivered: boolean;
  /** A status such as "200", or why there is none. */
  answer: string;
}

/** Posts a message to a chat. Never rejects. */
export type PostChat = (chat: Pick<ChatWebhook, "url">, text: string) => Promise<ChatAnswer>;

export interface ChatPoster {
  post: PostChat;
  close(): void;
}

/** Connects only to addresses to which webhooks may go. The client certificate is for endpoints, and is not shown to a chat. */
export function createChatPoster(
  network: Pick<SenderOptions, "allow" | "extraCa" | "monotonicMs" | "resolve">,
  secretKeys: SecretKeys,
): ChatPoster {
  const sender = createSender({ ...network, clientCertificate: null });
  return { post: (chat, text) => post(sender.send, chat, text, secretKeys), close: sender.close };
}

async function post(send: Send, chat: Pick<ChatWebhook, "url">, text: string, secretKeys: SecretKeys) {
  try {
    const url = new URL(unseal(secretKeys, chat.url));
    const path = url.pathname + url.search;
    const reply = await send({ origin: url.origin, path, authorization: null, body: JSON.stringify({ text }) });
    if (reply.outcome === "response") return { delivered: isSuccess(reply.status), answer: String(reply.status) };
    return { delivered: false, answer: redactSecrets(reply.error, [path]) };
  } catch (error) {
    if (error instanceof UnreadableSecret) return { delivered: false, answer: UNREADABLE_ANSWER };
    return { delivered: false, answer: "the message could not be sent" };
  }
}

const UNREADABLE_ANSWER = "the secret key changed, so the URL cannot be read: set it again";

/** Such as "&" in a name; chats read "<!channel>" as a command. */
export const escapeChatText = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

const SHOWN_CHARS = 4;
/** The end of a shorter path would reveal too much. */
const PATH_CHARS_MIN = 16;

/** "https://hooks.example.com/…9f2c" */
export function shownChatUrl(text: string): string {
  const url = new URL(text);
  const path = url.pathname + url.search;
  return `${url.origin}/…${path.length < PATH_CHARS_MIN ? "" : path.slice(-SHOWN_CHARS)}`;
}
