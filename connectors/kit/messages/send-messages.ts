import type { StoredAction } from "../action-ledger.ts";
import type { StoredMessage } from "../message-log.ts";
import type { ConnectorStore } from "../store.ts";
import type { OptOutLinks } from "./opt-out.ts";
import { nextLoudTime, type QuietHours } from "./quiet-hours.ts";
import type { MessageValues, Templates } from "./templates.ts";

/** The provider's facts for a mail about an invoice; read when it is sent, and not stored. */
export interface MessageFacts extends Omit<MessageValues, "unsubscribeUrl"> {
  to: string | null;
  /** Best first. */
  languages: string[];
  brand: string | undefined;
  /** Whether the invoice can still be paid. */
  isOpen: boolean;
}

export interface OutgoingMail {
  to: string;
  fromName: string;
  subject: string;
  text: string;
  html: string;
  headers: Record<string, string>;
}

/** Returns why a mail was not sent, or null. */
export type SendMail = (mail: OutgoingMail) => Promise<string | null>;

export interface MessagePolicy {
  quietHours: QuietHours;
  /** Mails per invoice. */
  most: number;
  /** Between two mails about the same invoice. */
  everyDays: number;
}

export interface MessageOptions {
  store: ConnectorStore;
  policy: MessagePolicy;
  templates: Templates;
  links: OptOutLinks;
  readFacts(invoiceId: string): Promise<MessageFacts | null>;
  sendMail: SendMail;
  now(): Date;
}

export interface Messages {
  /** Plans the mails that ask for another card. Returns why there are none, or null. */
  askForCard(action: StoredAction, customerId: string | undefined): Promise<string | null>;
  /** Returns how many were handled. */
  sendDue(): Promise<number>;
}

const DAY_MS = 86_400_000;
const SENDING_MS = 5 * 60_000;
const RETRY_MS = 15 * 60_000;
const TRIES_MAX = 5;
const PER_ROUND = 20;

/** No address of a customer is stored. */
const withoutAddresses = (text: string) => text.replaceAll(/[^\s<>()"',;:]+@[^\s<>()"',;:]+/g, "…");

export function createMessages(options: MessageOptions): Messages {
  const { store, policy, templates, links, now } = options;
  const log = store.messages;
  const loud = (at: Date) => nextLoudTime(at, policy.quietHours);

  /** Returns why it is not sent; null if it was handed over. A thrown error is a failure. */
  async function send(message: StoredMessage): Promise<{ skipped: string } | { language: string }> {
    const { invoiceId, customerId } = message;
    if (await log.hasOptedOut(customerId)) return { skipped: "The customer wants no mails." };
    if (!(await store.isOwned(invoiceId))) return { skipped: "Dunlin no longer handles this invoice." };
    const facts = await options.readFacts(invoiceId);
    if (!facts?.isOpen) return { skipped: "The invoice is no longer open." };
    if (!facts.to) return { skipped: "The customer has no mail address." };
    const unsubscribeUrl = links.linkFor(customerId);
    const { language, ...rendered } = templates.render(facts.brand, facts.languages, { ...facts, unsubscribeUrl });
    const headers = {
      "List-Unsubscribe": `<${unsubscribeUrl}>`,
      "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
      "Auto-Submitted": "auto-generated",
    };
    const problem = await options.sendMail({ to: facts.to, fromName: facts.merchant, ...rendered, headers });
    if (problem !== null) throw new Error(problem);
    return { language };
  }

  async function handle(message: StoredMessage) {
    const at = now();
    const { id, tries } = message;
    // The process died while it was sent. A second mail would be worse than none: reminders follow.
    if (message.state === "sending")
      return await log.end(id, "sent", at, { problem: "The process ended meanwhile, so it may not have arrived." });
    const loudAt = loud(at);
    if (loudAt > at) return await log.delay(id, loudAt, null);
    if (!(await log.begin(id, new Date(at.getTime() + SENDING_MS)))) return;
    try {
      const result = await send(message);
      if ("skipped" in result) await log.end(id, "skipped", now(), { problem: result.skipped });
      else await log.end(id, "sent", now(), result);
    } catch (error) {
      const problem = withoutAddresses((error as Error).message);
      if (tries + 1 >= TRIES_MAX) await log.end(id, "failed", now(), { problem });
      else await log.delay(id, new Date(now().getTime() + RETRY_MS * 2 ** tries), problem);
    }
  }

  return {
    async askForCard({ id, invoiceId }, customerId) {
      if (customerId === undefined) return "The invoice has no customer.";
      if (await log.hasOptedOut(customerId)) return "The customer wants no mails.";
      const before = await log.countOf(invoiceId);
      const left = policy.most - before;
      if (left <= 0) return `The customer was asked ${before} times already.`;
      const start = now().getTime();
      await log.plan(
        Array.from({ length: left }, (_, index) => ({
          id: `${id}-${index + 1}`,
          invoiceId,
          customerId,
          number: before + index + 1,
          dueAt: loud(new Date(start + index * policy.everyDays * DAY_MS)),
        })),
      );
      return null;
    },
    async sendDue() {
      const due = await log.due(PER_ROUND, now());
      for (const message of due) await handle(message);
      return due.length;
    },
  };
}
