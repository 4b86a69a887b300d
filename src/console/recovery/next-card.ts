import type { DecisionRecord } from "../../domain/decision.ts";
import type { RecoveryAction } from "../../domain/recovery-action.ts";
import { describeDecision, findPlannedAction } from "../../explain/answers.ts";
import type { ExplainedCase } from "../../explain/load-explained-case.ts";
import { type Html, type HtmlPart, html } from "../html.ts";
import { formatMoney } from "../show/number-format.ts";
import { consideredTimes, hasConsideredTimes } from "./considered-times.ts";
import { clockTime, type PageClock } from "./page-clock.ts";

/**
 * What comes next, or the decision that the reader chose, with the considered times.
 *
 * @returns null if no times were compared
 */
export function nextCard(explained: ExplainedCase, shown: DecisionRecord | null, clock: PageClock): Html | null {
  const heading = findHeading(explained, shown, clock);
  const recoveryCase = [...explained.earlierCases, explained.case].find((each) => each?.id === shown?.caseId);
  if (heading === null || !shown || !recoveryCase || !hasConsideredTimes(shown)) return null;
  const { chart, numbers, following } = consideredTimes(shown, {
    windowEndsAt: recoveryCase.windowEndsAt,
    amount: amountOf(explained, shown) ?? recoveryCase.amount,
    currency: recoveryCase.currency,
    clock,
  });
  // The answers already describe the latest decision.
  const remarks =
    shown === explained.decisions.at(-1) ? [] : describeDecision({ ...explained, case: recoveryCase }, shown);
  return html`<section class="card" id="considered"><header><h2>${heading.title}</h2>${heading.tag}</header>
<div class="in">${chart}${remarks.map((line) => html`<p class="small soft">${line}</p>`)}</div>
<div class="foot">${following && html`<span>${following}</span>`}<details class="more"><summary>Show the numbers</summary>${numbers}</details></div></section>`;
}

/** That was due when it was decided, or that is due now. */
const amountOf = ({ actions, balance, case: recoveryCase }: ExplainedCase, { actionId, caseId }: DecisionRecord) =>
  actions.find(({ id }) => id === actionId)?.amountDue ??
  (caseId === recoveryCase?.id && recoveryCase.endedAt === null ? balance?.unpaidAmount : undefined);

export interface Heading {
  title: HtmlPart;
  tag: Html | null;
}

/** @param shown  null: what comes next; null is returned if nothing does */
export function findHeading(explained: ExplainedCase, shown: DecisionRecord | null, clock: PageClock): Heading | null {
  const { case: recoveryCase, decisions } = explained;
  const action = findPlannedAction(explained);
  const latest = decisions.at(-1);
  const isLatest = shown === null || (action ? shown.actionId === action.id : shown === latest);
  if (!isLatest) return pastHeading(shown, clock);
  if (recoveryCase === null || recoveryCase.endedAt !== null || recoveryCase.arm === "merchant")
    return shown && pastHeading(shown, clock);
  if (recoveryCase.arm === "shadow")
    return latest?.kind === "retry"
      ? {
          title: html`Dunlin would retry ${money(explained)} on ${clockTime(clock, latest.idealTime!)}`,
          tag: html`<span class="tag tide">shadow mode</span>`,
        }
      : null;
  return action ? actionHeading(explained, action, clock) : null;
}

const pastHeading = (shown: DecisionRecord, clock: PageClock): Heading => ({
  title: html`Decided on ${clockTime(clock, shown.madeAt)}${shown.kind === "retry" && html`: retry on ${clockTime(clock, shown.idealTime!)}`}`,
  tag: html`<span class="tag">earlier decision</span>`,
});

const money = ({ balance, case: recoveryCase }: ExplainedCase) =>
  formatMoney(balance?.unpaidAmount || recoveryCase!.amount, recoveryCase!.currency);

function actionHeading(explained: ExplainedCase, action: RecoveryAction, clock: PageClock): Heading {
  const { type, status, decidedAt, idealRetryTime } = action;
  const tag =
    decidedAt === null
      ? html`<span class="tag tide">planned, may change</span>`
      : status === "SENT"
        ? html`<span class="tag">outcome awaited</span>`
        : html`<span class="tag warn">waiting for delivery</span>`;
  if (type === "RETRY")
    return {
      title: html`${decidedAt === null ? "Next: retry" : "Requested: retry"} ${money(explained)} on ${clockTime(clock, idealRetryTime)}`,
      tag,
    };
  return { title: `${decidedAt === null ? "Next" : "Requested"}: another card or payment method`, tag };
}
