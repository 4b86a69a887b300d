import type { RecoveryAction } from "../../domain/recovery-action.ts";
import type { ExplainedCase } from "../../explain/load-explained-case.ts";
import { END_REASON_WORDING } from "../../explain/story.ts";
import type { TransactionFacts } from "../../tables/transactions.ts";
import { toSpacedWords } from "../show/state-labels.ts";

/** `open`: made or requested without a known result. `planned` lies ahead or is awaited. */
export type MarkKind = "failed" | "paid" | "open" | "card" | "planned" | "end";

export interface TrackMark {
  at: Date;
  kind: MarkKind;
  /** Two words below the mark. */
  name: string;
  /** For the table and for people who cannot see the mark. */
  words: string;
}

/** What happened and is planned in the latest recovery of an invoice, oldest first. */
export function listTrackMarks(explained: ExplainedCase): TrackMark[] {
  const attempts = listAttempts(explained);
  const marks = [
    ...attempts.map((t, index) => attemptMark(t, index, attempts, explained.actions)),
    ...explained.actions.flatMap((action) => actionMark(action) ?? []),
    ...shadowMark(explained),
    ...endMark(explained, attempts),
  ];
  const { case: recoveryCase } = explained;
  // Without a reported attempt, one is assumed to have failed when the invoice became unpaid.
  if (attempts.length === 0 && recoveryCase)
    marks.push({
      at: recoveryCase.unpaidAt,
      kind: "failed",
      name: "unpaid",
      words: "The invoice became unpaid. No attempt was reported.",
    });
  return marks.sort((a, b) => a.at.getTime() - b.at.getTime());
}

function listAttempts({ transactions, earlierCases }: ExplainedCase) {
  const since = earlierCases.at(-1)?.endedAt ?? null;
  return transactions.filter(({ amount, createdAt }) => amount > 0 && (since === null || createdAt > since));
}

const INITIATOR_NAMES: Readonly<Record<string, string>> = { CUSTOMER: "by customer", MERCHANT_MANUAL: "manual" };

function attemptMark(
  t: TransactionFacts,
  index: number,
  attempts: readonly TransactionFacts[],
  actions: readonly RecoveryAction[],
): TrackMark {
  const isRetry = (each: TransactionFacts) =>
    each.recoveryActionId !== undefined ||
    actions.some(({ transactionId, type }) => type === "RETRY" && transactionId === each.id);
  const number = attempts.slice(0, index + 1).filter(isRetry).length;
  const name =
    index === 0 ? "first attempt" : isRetry(t) ? `retry ${number}` : (INITIATOR_NAMES[t.initiator ?? ""] ?? "attempt");
  const kind = t.state === "FAILED" ? "failed" : t.state === "PENDING" || t.state === "VOIDED" ? "open" : "paid";
  const code = t.networkDeclineCode ?? t.paymentGatewayErrorCode;
  return {
    ...{ at: t.createdAt, kind, name },
    words: `${name}: ${toSpacedWords(t.state)}${t.state === "FAILED" && code ? ` (code ${code})` : ""}`,
  };
}

function actionMark({ type, status, decidedAt, idealRetryTime }: RecoveryAction): TrackMark | null {
  const isAhead = decidedAt === null && status === "SCHEDULED";
  if (type === "CARD_CHANGE") {
    if (decidedAt === null && !isAhead) return null;
    const words = isAhead
      ? "another card or payment method will be asked for"
      : `another card or payment method asked for: ${toSpacedWords(status)}`;
    return { at: decidedAt ?? idealRetryTime, kind: "card", name: isAhead ? "card, planned" : "card asked", words };
  }
  if (isAhead) return { at: idealRetryTime, kind: "planned", name: "planned", words: "next attempt, planned" };
  if (status === "SENT" || status === "SCHEDULED")
    return { at: idealRetryTime, kind: "planned", name: "requested", words: "retry requested, outcome awaited" };
  return status === "EXPIRED"
    ? { at: idealRetryTime, kind: "open", name: "no result", words: "retry requested, no result was reported" }
    : null;
}

function shadowMark({ case: recoveryCase, decisions }: ExplainedCase): TrackMark[] {
  const latest = decisions.at(-1);
  if (recoveryCase?.arm !== "shadow" || recoveryCase.endedAt !== null || latest?.kind !== "retry") return [];
  return [
    { at: latest.idealTime!, kind: "planned", name: "would retry", words: "Dunlin would have requested a retry" },
  ];
}

function endMark({ case: recoveryCase }: ExplainedCase, attempts: readonly TransactionFacts[]): TrackMark[] {
  if (!recoveryCase?.endedAt || !recoveryCase.endReason || recoveryCase.endReason === "window_over") return [];
  const words = `The case ended: ${END_REASON_WORDING[recoveryCase.endReason]}`;
  if (recoveryCase.endReason !== "paid") return [{ at: recoveryCase.endedAt, kind: "end", name: "ended", words }];
  if (attempts.some(({ state }) => state !== "FAILED" && state !== "PENDING" && state !== "VOIDED")) return [];
  return [{ at: recoveryCase.paidAt ?? recoveryCase.endedAt, kind: "paid", name: "paid", words }];
}
