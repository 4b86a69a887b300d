import type { Zone } from "../decisions/local-time.ts";
import { failureWords } from "../decisions/reasons.ts";
import type { EndReason } from "../domain/case.ts";
import { moneyWords } from "../domain/currency.ts";
import type { ActionStatus, RecoveryAction } from "../domain/recovery-action.ts";
import type { TransactionState } from "../domain/transaction.ts";
import { readDecline } from "../rules/decline-group.ts";
import type { TransactionFacts } from "../store/transactions.ts";
import { askedFor, wouldAsk, wouldWords } from "./asked-for.ts";
import type { Explained } from "./explain.ts";
import { when } from "./explained-moment.ts";
import { codesOf, instrumentOf } from "./known.ts";

/** Returns the sentence that names the time zone. */
export const timesWords = ({ name }: Zone) => `Times are those of ${name}.`;

/** Something that happened to an invoice, in words. */
interface Happened {
  at: Date;
  words: string;
  isEnd?: true;
}

/** Returns the story of an invoice, oldest event first. */
export function happenedTo({ case: kase, transactions, actions, decisions }: Explained, zone: Zone): Happened[] {
  const events: Happened[] = transactions.map((t) => ({ at: t.createdAt, words: attemptWords(t) }));
  const isOver = kase !== null && kase.endedAt !== null;
  for (const action of actions)
    if (action.decidedAt) events.push({ at: action.decidedAt, words: askWords(action, isOver, zone) });
  if (kase?.arm === "shadow") {
    let last: string | null = null;
    const firstAsk = decisions.find(wouldAsk);
    for (const decision of decisions) {
      const { kind, madeAt, idealTime } = decision;
      const words = `Shadow mode: Dunlin would ${wouldWords(decision, firstAsk)}${kind === "retry" ? ` on ${when(zone, idealTime!)}` : ""}.`;
      // A fact may have changed and what would be done not.
      if (words !== last) events.push({ at: madeAt, words });
      last = words;
    }
  }
  if (kase) events.push({ at: kase.unpaidAt, words: "The invoice became unpaid, and the recovery window began." });
  if (kase?.endedAt)
    events.push({
      at: kase.endedAt,
      words: `The case ended: ${endWords(kase.endReason!, decisions)}`,
      isEnd: true,
    });
  return events.sort((a, b) => a.at.getTime() - b.at.getTime());
}

/** The same with what it is about, a sentence a line. */
export function story(explained: Explained, zone: Zone): string[] {
  const { invoice, earlierCases } = explained;
  const lines = happenedTo(explained, zone).map(({ at, words }) => `${when(zone, at)}  ${words}`);
  const head = `${invoice.id}: ${moneyWords(invoice.amount, invoice.currency)}, ${invoice.state}.`;
  const before =
    earlierCases.length > 0
      ? [`It was in recovery ${earlierCases.length === 1 ? "once" : `${earlierCases.length} times`} before.`]
      : [];
  return [head, timesWords(zone), ...before, ...lines];
}

/** Returns an instruction and its outcome in words. */
function askWords(action: RecoveryAction, isOver: boolean, zone: Zone): string {
  const { type, status, attemptedAt, idealRetryTime, reasons } = action;
  const ideal = when(zone, idealRetryTime);
  const made = attemptedAt && when(zone, attemptedAt);
  const at = made === null || (type === "RETRY" && made === ideal) ? "" : ` on ${made}`;
  if (type === "RETRY") return `A retry on ${ideal} was asked for${RETRIES[status](at)}.`;
  const open = isOver ? "" : "; one may still come";
  const end = isOver && status === "SENT" ? ", and none came before the case ended" : CARD_CHANGES[status](at, open);
  return `${askedFor(reasons)} was asked for${end}.`;
}

/** `open`: what is to be said of a case that is not over. */
type Ends = Readonly<Record<ActionStatus, (at: string, open?: string) => string>>;

const UNDELIVERED = {
  SCHEDULED: () => ", and the request is on its way",
  CANCELED: () => ", but a payment came first, or the request was taken back",
  DELIVERY_FAILED: () => ", but the endpoint did not take the request",
} as const;

const RETRIES: Ends = {
  ...UNDELIVERED,
  SENT: () => ", and what comes of it is awaited",
  SUCCEEDED: (at) => `, and succeeded${at}`,
  FAILED: (at) => `, and failed${at}`,
  EXPIRED: () => ", and what came of it was not told",
};

const CARD_CHANGES: Ends = {
  ...UNDELIVERED,
  SENT: () => ", and may still come",
  SUCCEEDED: (at) => `, and the invoice was paid${at}`,
  FAILED: () => ", and none came",
  EXPIRED: (_, open = "") => `, and no payment came of it within seven days${open}`,
};

const ATTEMPTS: Readonly<Record<Exclude<TransactionState, "FAILED">, string>> = {
  PAID: "succeeded",
  PENDING: "was made, and its outcome is awaited",
  VOIDED: "was voided",
  REFUNDED: "succeeded, and was refunded later",
  DISPUTED: "succeeded, and is disputed",
};

function attemptWords(t: TransactionFacts): string {
  if (t.amount === 0) return `A card was checked: ${t.state === "FAILED" ? "it was declined" : "no money moved"}.`;
  const who = t.initiator === "CUSTOMER" ? "The customer's attempt" : "An attempt";
  if (t.state !== "FAILED") return `${who} ${ATTEMPTS[t.state]}.`;
  return failureWords(who, readDecline(codesOf(t), instrumentOf(t)));
}

/** Why a case ended; of one that was given up, whether for the chance of a try or without weighing any. */
function endWords(reason: EndReason, decisions: Explained["decisions"]): string {
  const last = decisions.at(-1);
  if (reason !== "hopeless" || last?.kind !== "stop") return END_WORDS[reason];
  return `${END_WORDS.hopeless.slice(0, -1)}: ${last.modelVersion === null ? BY_RULES : NOT_LIKELY}`;
}

const BY_RULES = "a rule, or what the bank said, leaves no other try.";
const NOT_LIKELY = "no try that is allowed is likely enough to succeed to be worth making.";

export const END_WORDS: Readonly<Record<EndReason, string>> = {
  paid: "the invoice is paid.",
  voided: "the invoice was voided.",
  uncollectible: "the merchant wrote the invoice off.",
  refunded: "the invoice was refunded.",
  draft: "the invoice became a draft again.",
  subscription_canceled: "the subscription was canceled.",
  subscription_expired: "the subscription expired.",
  window_over: "the recovery window was over.",
  budget_used: "all retries of the budget were used.",
  hopeless: "Dunlin gave the invoice up.",
  settled: "nothing is left to pay: it was credited.",
  stopped_by_hand: "a person stopped the recovery of this invoice; the audit log says who.",
};
