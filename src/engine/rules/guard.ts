import { DAY_MS } from "../../domain/durations.ts";
import type { AdviceCode } from "./advice-codes.ts";
import { type CardBlock, citeSource, type LedgerEntry, type Ruling } from "./attempt-ledger.ts";
import { type BankDebit, findBankDebit } from "./bank-debits.ts";
import { type AttemptLimit, type CardNetwork, findCardNetwork, UNKNOWN_NETWORK } from "./card-networks.ts";
import { compareRestriction, endsRetries } from "./decline-groups.ts";
import { findDisputeBlock } from "./dispute-block.ts";
import { type Instrument, isCard } from "./instrument.ts";
import { type DeclineCodes, type InterpretedDecline, interpretDecline } from "./interpret-decline.ts";
import { isOperatorSource, SOURCES } from "./sources.ts";
import { findWallet } from "./wallets.ts";

/** What is asked of the networks: another attempt of this amount, on this card, for this invoice. */
export interface ProposedAttempt {
  instrument: Instrument;
  amount: number;
  ledger: readonly LedgerEntry[];
  /** When the invoice was first tried on the present card, in case the ledger has not seen it; null: not tried yet. */
  firstTriedAt: Date | null;
  /** The attempt may come this much before the moment asked about. */
  earlyMs: number;
}

/** All that the rules say of one question, worked out once and then asked about many moments. */
export interface Guard {
  /** The present card may not be tried again. */
  bar: CardBlock | null;
  /** A bar by another invoice's decline that the card has outlived, and when it is over: no try comes sooner. The latest to end. */
  lifted: (CardBlock & { at: number }) | null;
  /** Not before this, by the bank's advice, or since it may yet give some; `earlyMs` is not taken off yet. */
  notBefore: (Ruling & { at: number }) | null;
  /** Not after this: the last day on which a debit may be presented again. */
  notAfter: (Ruling & { at: number }) | null;
  /** All tries that an invoice may ever have on it are used up. */
  usedUp: Ruling | null;
  /** After so many more presentations, or declines that advise few tries as one before did, nothing may be tried any more; at least one. */
  triesLeft: (Ruling & { count: number }) | null;
  /** `times`: earliest first, of the tries that it counts. */
  limits: readonly (Ruling &
    Pick<AttemptLimit, "attemptsMax" | "windowMs" | "counts"> & { times: readonly number[] })[];
  earlyMs: number;
}

/** @see docs/sources.md */
export function buildGuard(question: ProposedAttempt): Guard {
  const { instrument, ledger, earlyMs } = question;
  const type = instrument.paymentMethodType;
  const debit = findBankDebit(type);
  const guard: Guard = {
    bar: null,
    lifted: null,
    notBefore: null,
    notAfter: null,
    usedUp: null,
    triesLeft: null,
    limits: [],
    earlyMs,
  };
  guard.bar = findDisputeBlock(ledger);
  if (debit) return { ...guard, ...checkPresentations(question, debit) };
  const network = isCard(instrument) ? findCardNetwork(instrument.network) : findWallet(type!);
  if (!network) return guard;
  const counted = ledger.filter((entry) => entry.onPresentCard && entry.approved !== true);
  const unseen = findUnreportedFirstAttempt(question);
  const limits = network.limits.map((limit) => ({
    sentence: describeLimit(network, limit),
    source: limit.source,
    attemptsMax: limit.attemptsMax,
    windowMs: limit.windowMs,
    counts: limit.counts,
    times: [
      ...unseen,
      ...counted
        .filter((entry) => !entry.isUnsent && COUNTS_BY_SCOPE[limit.counts](entry, question))
        .map((entry) => entry.at.getTime()),
    ].sort((a, b) => a - b),
  }));
  const usedUp =
    limits.find(
      ({ windowMs, times, attemptsMax }) => windowMs === Number.POSITIVE_INFINITY && times.length >= attemptsMax,
    ) ?? null;
  const advice = collectAdvice(counted, lastAliveAt(ledger), instrument);
  return { ...guard, ...advice, bar: guard.bar ?? advice.bar, limits, usedUp };
}

/** Which tries count against a limit. */
const COUNTS_BY_SCOPE: Readonly<
  Record<AttemptLimit["counts"], (entry: LedgerEntry, question: ProposedAttempt) => boolean>
> = {
  card: () => true,
  card_and_amount: (entry, { amount }) => entry.amount === amount,
  invoice: ({ onThisInvoice }) => onThisInvoice,
};

/** When the present card was shown to be alive last, in milliseconds since 1970; 0: it was not. */
const lastAliveAt = (ledger: readonly LedgerEntry[]) =>
  ledger.reduce((latest, { at, clears }) => (clears ? Math.max(latest, at.getTime()) : latest), 0);

/** Mastercard charges for an attempt within 30 days of its advice 03 or 21. Our own choice for all bars. */
const BLOCK_MS = 30 * DAY_MS;

/** What earlier declines of the same card say about ever trying it again, and when. */
function collectAdvice(counted: readonly LedgerEntry[], alive: number, instrument: Instrument) {
  let bar: Guard["bar"] = null;
  let lifted: Guard["lifted"] = null;
  let notBefore: Guard["notBefore"] = null;
  // The latest decline that said that few tries are advised, and how many were made since the first one that did.
  let few: { decline: InterpretedDecline; advice: AdviceCode; onThisInvoice: boolean } | null = null;
  let tries = 0;
  for (const { codes, at, approved, onThisInvoice, standIn, mayBeAnswered } of counted) {
    if (!codes) {
      if (few && approved === null) tries++;
      if (mayBeAnswered) notBefore = laterOf(notBefore, waitForAnswer(at));
      continue;
    }
    const decline = interpretDecline(codes, standIn ?? instrument);
    const { advice } = decline;
    if (advice && Number.isFinite(advice.triesMax)) {
      tries++;
      few = { decline, advice, onThisInvoice };
    }
    const ruling = findBlock(decline, findCardNetwork((standIn ?? instrument).network));
    if (ruling && !onThisInvoice && !standIn && at.getTime() < alive && isAboutCard(decline)) {
      const until = at.getTime() + BLOCK_MS;
      if (until > (lifted?.at ?? 0)) lifted = { ...ruling, decline, onThisInvoice, at: until };
    } else if (ruling) bar = isMoreRestrictive(bar, { ...ruling, decline, onThisInvoice });
    for (const wait of [waitForAdvice(advice, at), lifted && waitForBlockEnd(lifted)])
      notBefore = laterOf(notBefore, wait);
  }
  let triesLeft: Guard["triesLeft"] = null;
  if (few) {
    const { source, triesMax } = few.advice;
    const sentence = `Only ${triesMax === 1 ? "1 attempt is" : `${triesMax} attempts are`} advised on such a card. Counted so far: ${tries} ${citeSource(source)}.`;
    if (tries >= triesMax) bar = isMoreRestrictive(bar, { sentence, source, ...few });
    else triesLeft = { sentence, source, count: triesMax - tries };
  }
  return { bar, lifted, notBefore, triesLeft };
}

const laterOf = (one: Guard["notBefore"], other: Guard["notBefore"]) =>
  other && other.at > (one?.at ?? 0) ? other : one;

/** Merchants tell within minutes what came of a try. */
const ANSWER_WAIT_MS = 15 * 60_000;

/** Two tries on a card that are decided before either is answered might both be made where the first one's answer is to wait, or to stop. */
function waitForAnswer(at: Date): Guard["notBefore"] {
  const source = SOURCES.mastercardAdvice;
  const sentence = `A retry of another invoice that counts for this card was requested. The bank's answer may be to wait or to stop, so it is awaited first ${citeSource(source)}.`;
  return { sentence, source, at: at.getTime() + ANSWER_WAIT_MS };
}

function waitForAdvice(advice: AdviceCode | null, at: Date): Guard["notBefore"] {
  if (!advice || advice.waitMs <= 0) return null;
  const sentence = `With a decline ${advice.words}, so no retry comes sooner ${citeSource(advice.source)}.`;
  return { sentence, source: advice.source, at: at.getTime() + advice.waitMs };
}

function waitForBlockEnd({ source, at }: NonNullable<Guard["lifted"]>): NonNullable<Guard["notBefore"]> {
  const sentence = `A decline for another invoice blocked this card ${citeSource(source)}. A later charge was approved, so the card is retried, but not within 30 days of that decline.`;
  return { sentence, source, at };
}

/** It speaks of the card, and not of a consent that was revoked, or of a suspicion. */
const isAboutCard = ({ group }: InterpretedDecline) => group !== "REVOKED" && group !== "FRAUD";

/** Whether a decline by itself bars its card, for as long as nothing shows the card to be alive again. */
export const blocksCard = (codes: DeclineCodes, instrument: Instrument): boolean =>
  findBlock(interpretDecline(codes, instrument), findCardNetwork(instrument.network)) !== null;

function findBlock({ advice, category1 }: InterpretedDecline, network: CardNetwork): Ruling | null {
  const source = advice?.bars ? advice.source : category1;
  if (!source) return null;
  if (isOperatorSource(source))
    return { sentence: `After such a decline the card may not be charged again ${citeSource(source)}.`, source };
  if (advice?.bars) {
    const sentence = `Mastercard's advice with such a decline is to stop, so this card is not charged again ${citeSource(source)}.`;
    return { sentence, source };
  }
  const who =
    network.dialect === "visa" ? `${network.name} does` : "Visa's categories, kept here as the safe choice, do";
  return { sentence: `${who} not allow another attempt on a card after such a decline ${citeSource(source)}.`, source };
}

/** What this invoice was told counts before what another one was, then the more restrictive. */
function isMoreRestrictive(a: Guard["bar"], b: NonNullable<Guard["bar"]>) {
  if (!a || a.onThisInvoice !== b.onThisInvoice) return !a || b.onThisInvoice ? b : a;
  return compareRestriction(a.decline.group, b.decline.group) < 0 ? a : b;
}

function checkPresentations(question: ProposedAttempt, debit: BankDebit) {
  const presented = question.ledger.filter((entry) => entry.onThisInvoice && entry.onPresentCard && !entry.isUnsent);
  const times = [...findUnreportedFirstAttempt(question), ...presented.map((entry) => entry.at.getTime())].sort(
    (a, b) => a - b,
  );
  const latest = presented
    .filter((entry) => entry.approved === false)
    .reduce<LedgerEntry | null>((last, entry) => (last && last.at > entry.at ? last : entry), null);
  const group = latest?.codes ? interpretDecline(latest.codes, question.instrument).group : "UNKNOWN";
  // Any other reason, such as a fault or "declined", hides which return code it was.
  const isTold = group === "FUNDS" || endsRetries(group);
  const untold = isTold ? "" : "; whether the last one had that code was not reported, so only attempts are counted";
  const ruling = {
    sentence: `${debit.name} debits allow ${debit.words}${untold} ${citeSource(debit.source)}.`,
    source: debit.source,
  };
  const count = debit.presentationsMax - times.length;
  return {
    usedUp: count <= 0 ? ruling : null,
    triesLeft: count > 0 ? { ...ruling, count } : null,
    notAfter: times.length > 0 ? { ...ruling, at: times[0]! + debit.withinMs } : null,
  };
}

/** What is reported so much later than the invoice became unpaid may still be its first attempt. */
const FIRST_REPORT_DELAY_MS = DAY_MS;

/** An invoice that is unpaid was tried once, also where no transaction tells of it. */
function findUnreportedFirstAttempt({ firstTriedAt, ledger }: ProposedAttempt): number[] {
  if (firstTriedAt === null) return [];
  const isSeen = ledger.some(
    (entry) => entry.onThisInvoice && entry.onPresentCard && +entry.at <= +firstTriedAt + FIRST_REPORT_DELAY_MS,
  );
  return isSeen ? [] : [firstTriedAt.getTime()];
}

function describeLimit(network: CardNetwork, limit: AttemptLimit) {
  if (limit.source === SOURCES.unknownCards)
    return `${isUnknownNetwork(network) ? "The card network is not known" : `What ${network.name} allows was not seen`}, so the strictest limit is kept: ${limit.words} (Visa and Mastercard).`;
  if (limit.source === SOURCES.otherCards)
    return `${network.name} publishes no limit, so Visa's is kept: ${limit.words}.`;
  return `${network.name} allows at most ${limit.words} ${citeSource(limit.source)}.`;
}

const isUnknownNetwork = ({ name }: CardNetwork) => name === UNKNOWN_NETWORK.name;

/**
 * Whether the rules allow an attempt at that moment, or up to `earlyMs` before it.
 *
 * Limits hold in every rolling window that contains the attempt, also in windows that reach over attempts already
 * asked for at later moments. Both ends of a window belong to it.
 *
 * @param at  in milliseconds since 1970
 * @returns null when it is allowed, else the rule that forbids it
 */
export function findForbiddingRule(guard: Guard, at: number): Ruling | null {
  if (guard.bar) return guard.bar;
  if (guard.usedUp) return guard.usedUp;
  if (guard.notBefore && at - guard.earlyMs < guard.notBefore.at) return guard.notBefore;
  if (guard.notAfter && at > guard.notAfter.at) return guard.notAfter;
  for (const limit of guard.limits) if (overfills(limit, at, guard.earlyMs)) return limit;
  return null;
}

/** Whether there is any moment that the rules forbid. */
export const forbidsAnyTime = ({ bar, usedUp, notBefore, notAfter, limits }: Guard): boolean =>
  (bar ?? usedUp ?? notBefore ?? notAfter) !== null ||
  limits.some(({ times, attemptsMax }) => times.length >= attemptsMax);

/**
 * A fullest window can always be slid to begin at an attempt: at an earlier one, or at the new one. From an attempt on it is full where the one
 * comes within it that is as many further as are allowed.
 */
function overfills({ times, windowMs, attemptsMax }: Guard["limits"][number], at: number, earlyMs: number): boolean {
  const from = at - earlyMs - windowMs;
  for (let n = 0; n + attemptsMax <= times.length; n++) {
    const start = times[n]!;
    if (start < from) continue;
    if (times[n + attemptsMax - 1]! <= Math.min(start, at) + windowMs) return true;
    if (start >= at) return false;
  }
  return false;
}
