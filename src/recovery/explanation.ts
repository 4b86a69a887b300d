import { saysCount } from "../decisions/account.ts";
import {
  addDays,
  atLocalTime,
  dayWords,
  type LocalDay,
  localDay,
  momentWords,
  type Zone,
} from "../decisions/local-time.ts";
import { failureWords } from "../decisions/reasons.ts";
import { whereabouts } from "../decisions/whereabouts.ts";
import type { Case, EndReason } from "../domain/case.ts";
import { moneyWords } from "../domain/currency.ts";
import type { DecisionRecord, Prospect } from "../domain/decision.ts";
import type { Invoice } from "../domain/invoice.ts";
import type { RecoveryAction } from "../domain/recovery-action.ts";
import { readDecline } from "../rules/decline-group.ts";
import type { TransactionFacts } from "../store/transactions.ts";
import { codesOf } from "./known.ts";

/** What is kept of an invoice's latest case. Lists are oldest first. */
export interface Explained {
  invoice: Invoice;
  case: Case | null;
  earlierCases: number;
  actions: readonly RecoveryAction[];
  transactions: readonly TransactionFacts[];
  decisions: readonly DecisionRecord[];
  now: Date;
}

/** A question that people ask, and the answer, one sentence a line. */
export interface Answer {
  question: string;
  answer: string[];
}

/** The questions that people ask about an invoice, each answered from what was kept when it was decided. */
export function explanationOf(explained: Explained): Answer[] {
  const { decisions } = explained;
  const latest = decisions.at(-1) ?? null;
  const zone = zoneOf(explained);
  const retry = decisions.findLast(({ kind }) => kind === "retry") ?? null;
  return [
    { question: "What happened so far?", answer: story(explained, zone) },
    { question: "What is planned now?", answer: planned(explained, latest, zone) },
    { question: "Why not today?", answer: whyNotToday(explained, latest, zone) },
    { question: "Why this hour?", answer: whyThisHour(retry, zone) },
    { question: "Which rules?", answer: rules(latest, zone) },
    { question: "Why a card change?", answer: whyCardChange(decisions) },
    { question: "Why did you stop?", answer: whyStopped(explained, latest) },
    { question: "What would six even tries have done?", answer: sixEvenTries(decisions, zone) },
    { question: "What changed since the last plan?", answer: changed(latest) },
    { question: "What was known?", answer: latest?.account.known ?? ["Nothing was decided yet."] },
    { question: "How was it chosen?", answer: howChosen(latest) },
  ];
}

function zoneOf({ invoice, transactions }: Explained): Zone {
  const latest = transactions.at(-1);
  return whereabouts({
    customerTimezone: latest?.customerTimezone ?? null,
    cardCountry: latest?.cardCountry ?? null,
    currency: invoice.currency,
  }).zone;
}

const when = (zone: Zone, at: Date) => momentWords(zone, at.getTime());
const percent = (share: number) => `${Math.round(share * 100)}%`;

function story(
  { invoice, case: kase, earlierCases, transactions, actions, decisions }: Explained,
  zone: Zone,
): string[] {
  const events: { at: Date; words: string }[] = transactions.map((t) => ({ at: t.createdAt, words: attemptWords(t) }));
  for (const { type, status, decidedAt, attemptedAt, idealRetryTime } of actions)
    if (decidedAt) {
      const what =
        type === "RETRY" ? `A retry on ${when(zone, idealRetryTime)} was asked for` : "Another card was asked for";
      const made = attemptedAt ? ` and was carried out on ${when(zone, attemptedAt)}` : "";
      events.push({ at: decidedAt, words: `${what}${made}: ${status}.` });
    }
  if (kase?.arm === "shadow")
    for (const { kind, madeAt, idealTime } of decisions)
      if (kind === "retry")
        events.push({ at: madeAt, words: `Dunlin would have asked for a retry on ${when(zone, idealTime!)}.` });
  if (kase) events.push({ at: kase.unpaidAt, words: "The invoice became unpaid, and the recovery window began." });
  if (kase?.endedAt) events.push({ at: kase.endedAt, words: `The case ended: ${END_WORDS[kase.endReason!]}` });
  const lines = events
    .sort((a, b) => a.at.getTime() - b.at.getTime())
    .map(({ at, words }) => `${when(zone, at)}  ${words}`);
  const head = `${invoice.id}: ${moneyWords(invoice.amount, invoice.currency)}, ${invoice.state}.`;
  const before = earlierCases > 0 ? [`It was in recovery before: ${earlierCases} earlier.`] : [];
  return [head, ...before, ...lines];
}

function attemptWords(t: TransactionFacts): string {
  const who = t.initiator === "CUSTOMER" ? "The customer's attempt" : "An attempt";
  if (t.state !== "FAILED") return `${who} was made: ${t.state}.`;
  const instrument = {
    paymentMethodType: t.paymentMethodType ?? null,
    network: t.cardBrand ?? null,
    cardCountry: t.cardCountry ?? null,
  };
  return failureWords(who, readDecline(codesOf(t), instrument));
}

const END_WORDS: Readonly<Record<EndReason, string>> = {
  paid: "the invoice is paid.",
  voided: "the invoice was voided.",
  uncollectible: "the merchant wrote the invoice off.",
  refunded: "the invoice was refunded.",
  draft: "the invoice became a draft again.",
  subscription_canceled: "the subscription was canceled.",
  subscription_expired: "the subscription expired.",
  window_over: "the recovery window was over.",
  budget_used: "all retries of the budget were used.",
  hopeless: "no try that is allowed is likely enough to succeed to be worth making.",
};

const WATCHED =
  "An experiment left this customer to the merchant's own system: Dunlin asks for nothing, and watches what becomes of the invoice.";

const SHADOW =
  "The case began in shadow mode: Dunlin asks for nothing, and notes what it would do. The merchant's own system goes on.";

/** What Dunlin would do next. */
function inShadow(latest: DecisionRecord | null, zone: Zone): string[] {
  if (!latest) return ["The case was not looked at yet."];
  const { kind, idealTime, chance, account } = latest;
  const chanceWords = chance === null ? "" : `, with a chance of ${percent(chance)}`;
  const what = {
    retry: () => `It would ask for a retry on ${when(zone, idealTime!)}${chanceWords}.`,
    card_change: () => "It would ask for another card or payment method.",
    stop: () => "It would give the invoice up.",
    wait: () => "It would wait.",
  }[kind]();
  return [what, ...account.reasons];
}

function planned({ case: kase, actions }: Explained, latest: DecisionRecord | null, zone: Zone): string[] {
  if (!kase) return ["This invoice was never in recovery."];
  if (kase.endedAt) return ["Nothing: the case is over."];
  if (kase.arm === "merchant") return [WATCHED];
  if (kase.arm === "shadow") return [SHADOW, ...inShadow(latest, zone)];
  const action = actions.findLast(({ status }) => status === "SCHEDULED" || status === "SENT");
  if (!action) return latest?.account.reasons ?? ["The case was not looked at yet."];
  const what = action.type === "RETRY" ? "A retry" : "A change of the card or payment method";
  const chance =
    latest?.actionId === action.id && latest.chance !== null ? `, with a chance of ${percent(latest.chance)}` : "";
  const state = action.decidedAt ? "was sent to the merchant" : "is planned, and may still change";
  return [`${what} for ${when(zone, action.idealRetryTime)}${chance}; it ${state}.`, ...action.reasons];
}

function whyNotToday({ case: kase, now }: Explained, latest: DecisionRecord | null, zone: Zone): string[] {
  if (!kase || kase.endedAt) return ["Nothing is tried any more: see why it stopped."];
  if (kase.arm === "merchant") return [WATCHED];
  if (!latest) return ["The case was not looked at yet."];
  const today = localDay(zone, now.getTime());
  const { account, idealTime } = latest;
  if (latest.kind === "card_change") return ["The same card is not tried again: see why a card change."];
  if (latest.kind !== "retry") return account.reasons;
  if (isSameDay(localDay(zone, idealTime!.getTime()), today)) return ["It is today."];
  const dayEnds = atLocalTime(zone, addDays(today, 1), 0);
  const rule = account.ruledOut.find(({ from, to }) => from.getTime() < dayEnds && to >= now);
  if (rule) return [`A rule leaves no try until ${when(zone, rule.to)}: ${rule.rule}`, `Source: ${rule.source}.`];
  const chosen = account.days.find((day) =>
    isSameDay(localDay(zone, day.at.getTime()), localDay(zone, idealTime!.getTime())),
  );
  const best = account.days.find(({ at }) => isSameDay(localDay(zone, at.getTime()), today));
  if (!best || !chosen)
    return [
      "No moment of today was among those that could be chosen: the last try was too short a time ago.",
      ...account.reasons,
    ];
  return [
    `Today's best moment is ${when(zone, best.at)}: ${prospectWords(best)}`,
    `The one that was chosen, ${when(zone, chosen.at)}: ${prospectWords(chosen)}`,
    ...account.days
      .filter((day) => day !== best && day !== chosen)
      .sort((a, b) => b.worth - a.worth)
      .slice(0, 3)
      .map((day) => `The next best, ${when(zone, day.at)}: ${prospectWords(day)}`),
  ];
}

const prospectWords = ({ chance, worth }: Prospect) =>
  `a chance of ${percent(chance)}, and with the tries planned after it worth ${percent(worth)} of the amount.`;
const isSameDay = (a: LocalDay, b: LocalDay) => dayWords(a) === dayWords(b) && a.year === b.year;

const HOUR_DRAWN =
  "In one try of five the hour is drawn, by how likely each is believed to be the best one, to go on learning: so was this one.";

function whyThisHour(retry: DecisionRecord | null, zone: Zone): string[] {
  if (!retry) return ["No retry was planned."];
  const { hours, reasons, hourDrawn } = retry.account;
  if (hours.length === 0) return reasons;
  const chosen = when(zone, retry.idealTime!);
  return [
    `The retry is for ${chosen}; a few minutes are added, so that a bank does not get all tries in one second.`,
    ...(hourDrawn ? [HOUR_DRAWN] : []),
    ...hours.map(({ at, chance }) => `At ${when(zone, at)}: a chance of ${percent(chance)}.`),
  ];
}

function rules(latest: DecisionRecord | null, zone: Zone): string[] {
  if (!latest) return ["Nothing was decided yet."];
  const { ruledOut, known } = latest.account;
  const kept = known.filter(saysCount);
  if (ruledOut.length === 0) return ["No rule left out any moment of the window.", ...kept];
  return [
    ...ruledOut.flatMap(({ rule, source, from, to }) => [
      `No try from ${when(zone, from)} to ${when(zone, to)}: ${rule}`,
      `Source: ${source}.`,
    ]),
    ...kept,
  ];
}

function whyCardChange(decisions: readonly DecisionRecord[]): string[] {
  const asked = decisions.findLast(({ kind }) => kind === "card_change");
  if (asked) return asked.account.reasons;
  const latest = decisions.at(-1);
  return [
    "No other card was asked for.",
    ...(latest?.kind === "retry" ? ["The present one may still work: see what is planned."] : []),
  ];
}

function whyStopped({ case: kase }: Explained, latest: DecisionRecord | null): string[] {
  if (!kase?.endedAt) return ["It has not stopped."];
  const decided = latest?.kind === "stop" ? latest.account.reasons : [];
  return [`The case ended: ${END_WORDS[kase.endReason!]}`, ...decided];
}

function sixEvenTries(decisions: readonly DecisionRecord[], zone: Zone): string[] {
  const first = decisions.find(({ account }) => account.even !== null);
  if (!first) return ["No alternatives were worked out: the static policy decided, or a rule or a new card did."];
  const { tries, recovers, worth, plan, planRecovers, planWorth } = first.account.even!;
  const days = (dates: readonly Date[]) => dates.map((at) => dayWords(localDay(zone, at.getTime()))).join(", ");
  return [
    `As seen on ${when(zone, first.madeAt)}, by the same model:`,
    `Even tries on ${days(tries)} recover it with a chance of ${percent(recovers)}, and are worth ${percent(worth)} of the amount after costs.`,
    `The plan, on ${days(plan)}, recovers it with a chance of ${percent(planRecovers)}, and is worth ${percent(planWorth)}.`,
  ];
}

function changed(latest: DecisionRecord | null): string[] {
  if (!latest) return ["Nothing was decided yet."];
  if (latest.number === 1) return ["This is the first decision in the case."];
  const { changed: facts } = latest.account;
  return facts.length > 0
    ? facts
    : ["No fact that can be named; a moment passed, or a fact left a counted stretch of time."];
}

function howChosen(latest: DecisionRecord | null): string[] {
  if (!latest) return ["Nothing was decided yet."];
  const { account, engine, modelVersion, propensity } = latest;
  const lines = [
    engine === "learned"
      ? `The learned engine decided, with version ${modelVersion} of what was learned.`
      : "The static policy decided, by fixed rules.",
  ];
  if (account.fallback) lines.push(`The merchant wants the learned engine, but ${account.fallback}.`);
  if (account.drawn) lines.push("The moment was drawn by lot among good ones, to go on learning.");
  if (account.hourDrawn) lines.push(HOUR_DRAWN);
  if (propensity !== null)
    lines.push(
      `It was chosen with a probability of ${(100 * propensity).toFixed(1)}%${account.hourDrawn ? ", the draw of its hour aside" : ""}.`,
    );
  return lines;
}
