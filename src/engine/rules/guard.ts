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

export interface ProposedAttempt {
  instrument: Instrument;
  amount: number;
  ledger: readonly LedgerEntry[];
  /** On the current card, in case the ledger lacks it; null: none yet. */
  firstTriedAt: Date | null;
  /** May be made this long before its planned time. */
  earlyMs: number;
}

/** Computed once and then checked for many times. */
export interface Guard {
  /** Blocks the current card. */
  block: CardBlock | null;
  /** By another invoice's decline, although the card was approved since: no retry comes before it ends. The latest to end. */
  liftedBlock: (CardBlock & { at: number }) | null;
  /** By the bank's advice, or because an open attempt may bring some; `earlyMs` is not subtracted yet. */
  notBefore: (Ruling & { at: number }) | null;
  /** Last day to present a debit again. */
  notAfter: (Ruling & { at: number }) | null;
  /** By the invoice, forever. */
  usedUp: Ruling | null;
  /** Presentations, or declines that advise few retries, until retries end; at least 1. */
  attemptsLeft: (Ruling & { count: number }) | null;
  /** `times`: earliest first, only counted attempts. */
  limits: readonly (Ruling &
    Pick<AttemptLimit, "attemptsMax" | "windowMs" | "counts"> & { times: readonly number[] })[];
  /** The merchant's own rule, about planned times; null: none. */
  quiet: {
    rulingAt(at: number): Ruling | null;
    /** By the hour alone, on any day. */
    isQuietHour(at: number): boolean;
  } | null;
  earlyMs: number;
}

/** @see docs/sources.md */
export function buildGuard(proposal: ProposedAttempt): Guard {
  const { instrument, ledger, earlyMs } = proposal;
  const type = instrument.paymentMethodType;
  const debit = findBankDebit(type);
  const guard: Guard = {
    block: null,
    liftedBlock: null,
    notBefore: null,
    notAfter: null,
    usedUp: null,
    attemptsLeft: null,
    limits: [],
    quiet: null,
    earlyMs,
  };
  guard.block = findDisputeBlock(ledger);
  if (debit) return { ...guard, ...checkPresentations(proposal, debit) };
  const network = isCard(instrument) ? findCardNetwork(instrument.network) : findWallet(type!);
  if (!network) return guard;
  const counted = ledger.filter((entry) => entry.onPresentCard && entry.approved !== true);
  const unreported = findUnreportedFirstAttempt(proposal);
  const limits = network.limits.map((limit) => ({
    sentence: describeLimit(network, limit),
    source: limit.source,
    attemptsMax: limit.attemptsMax,
    windowMs: limit.windowMs,
    counts: limit.counts,
    times: [
      ...unreported,
      ...counted
        .filter((entry) => !entry.isUnsent && COUNTS_BY_SCOPE[limit.counts](entry, proposal))
        .map((entry) => entry.at.getTime()),
    ].sort((a, b) => a - b),
  }));
  const usedUp =
    limits.find(
      ({ windowMs, times, attemptsMax }) => windowMs === Number.POSITIVE_INFINITY && times.length >= attemptsMax,
    ) ?? null;
  const advice = collectAdvice(counted, lastAliveAt(ledger), instrument);
  return { ...guard, ...advice, block: guard.block ?? advice.block, limits, usedUp };
}

const COUNTS_BY_SCOPE: Readonly<
  Record<AttemptLimit["counts"], (entry: LedgerEntry, proposal: ProposedAttempt) => boolean>
> = {
  card: () => true,
  card_and_amount: (entry, { amount }) => entry.amount === amount,
  invoice: ({ onThisInvoice }) => onThisInvoice,
};

/** In milliseconds since 1970; 0: never. */
const lastAliveAt = (ledger: readonly LedgerEntry[]) =>
  ledger.reduce((latest, { at, clears }) => (clears ? Math.max(latest, at.getTime()) : latest), 0);

/**
 * Mastercard charges a fee for an attempt within 30 days after its advice 03 or 21. Dunlin chose the same period for all blocks.
 */
const BLOCK_MS = 30 * DAY_MS;

function collectAdvice(counted: readonly LedgerEntry[], aliveAt: number, instrument: Instrument) {
  let block: Guard["block"] = null;
  let liftedBlock: Guard["liftedBlock"] = null;
  let notBefore: Guard["notBefore"] = null;
  // `fewAdvised`: latest decline that advises few retries; `attemptCount`: since the first such decline.
  let fewAdvised: { decline: InterpretedDecline; advice: AdviceCode; onThisInvoice: boolean } | null = null;
  let attemptCount = 0;
  for (const { codes, at, approved, onThisInvoice, standIn, mayBeAnswered } of counted) {
    if (!codes) {
      if (fewAdvised && approved === null) attemptCount++;
      if (mayBeAnswered) notBefore = laterOf(notBefore, waitForAnswer(at));
      continue;
    }
    const decline = interpretDecline(codes, standIn ?? instrument);
    const { advice } = decline;
    if (advice && Number.isFinite(advice.triesMax)) {
      attemptCount++;
      fewAdvised = { decline, advice, onThisInvoice };
    }
    const ruling = findBlock(decline, findCardNetwork((standIn ?? instrument).network));
    if (ruling && !onThisInvoice && !standIn && at.getTime() < aliveAt && concernsCard(decline)) {
      const until = at.getTime() + BLOCK_MS;
      if (until > (liftedBlock?.at ?? 0)) liftedBlock = { ...ruling, decline, onThisInvoice, at: until };
    } else if (ruling) block = isMoreRestrictive(block, { ...ruling, decline, onThisInvoice });
    for (const wait of [waitForAdvice(advice, at), liftedBlock && waitForBlockEnd(liftedBlock)])
      notBefore = laterOf(notBefore, wait);
  }
  let attemptsLeft: Guard["attemptsLeft"] = null;
  if (fewAdvised) {
    const { source, triesMax } = fewAdvised.advice;
    const sentence = `Few retries are advised for such a card ${citeSource(source)}. Dunlin allows at most ${triesMax === 1 ? "1 attempt" : `${triesMax} attempts`}. Counted so far: ${attemptCount}.`;
    if (attemptCount >= triesMax) block = isMoreRestrictive(block, { sentence, source, ...fewAdvised });
    else attemptsLeft = { sentence, source, count: triesMax - attemptCount };
  }
  return { block, liftedBlock, notBefore, attemptsLeft };
}

const laterOf = (a: Guard["notBefore"], b: Guard["notBefore"]) => (b && b.at > (a?.at ?? 0) ? b : a);

/** Outcomes are reported within minutes. */
const ANSWER_WAIT_MS = 15 * 60_000;

/** Of two retries decided before either is answered, the second could ignore the first one's advice. */
function waitForAnswer(at: Date): Guard["notBefore"] {
  const source = SOURCES.mastercardAdvice;
  const sentence = `Dunlin has requested a retry of another invoice that counts toward this card's limits. A decline could forbid this retry, so Dunlin waits for the answer first ${citeSource(source)}.`;
  return { sentence, source, at: at.getTime() + ANSWER_WAIT_MS };
}

function waitForAdvice(advice: AdviceCode | null, at: Date): Guard["notBefore"] {
  if (!advice || advice.waitMs <= 0) return null;
  const advised = advice.words.replace(/^./, (first) => first.toUpperCase());
  const sentence = `${advised}, so Dunlin does not retry sooner ${citeSource(advice.source)}.`;
  return { sentence, source: advice.source, at: at.getTime() + advice.waitMs };
}

function waitForBlockEnd({ source, at }: NonNullable<Guard["liftedBlock"]>): NonNullable<Guard["notBefore"]> {
  const sentence = `A decline on another invoice blocked this card ${citeSource(source)}. A later charge was approved, so Dunlin retries the card, but not within 30 days of that decline.`;
  return { sentence, source, at };
}

/** Not a revoked consent or a suspicion of fraud. */
const concernsCard = ({ group }: InterpretedDecline) => group !== "REVOKED" && group !== "FRAUD";

/** Until the card is known to work again. */
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
  const isVisa = network.dialect === "visa";
  const rule = `${isVisa ? network.name : "Visa"} does not allow another attempt on a card after such a decline ${citeSource(source)}.`;
  return { sentence: isVisa ? rule : `${rule} Dunlin applies that rule here as the safe choice.`, source };
}

/** This invoice's declines take precedence. */
function isMoreRestrictive(a: Guard["block"], b: NonNullable<Guard["block"]>) {
  if (!a || a.onThisInvoice !== b.onThisInvoice) return !a || b.onThisInvoice ? b : a;
  return compareRestriction(a.decline.group, b.decline.group) < 0 ? a : b;
}

function checkPresentations(proposal: ProposedAttempt, debit: BankDebit) {
  const presented = proposal.ledger.filter((entry) => entry.onThisInvoice && entry.onPresentCard && !entry.isUnsent);
  const times = [...findUnreportedFirstAttempt(proposal), ...presented.map((entry) => entry.at.getTime())].sort(
    (a, b) => a - b,
  );
  const latest = presented
    .filter((entry) => entry.approved === false)
    .reduce<LedgerEntry | null>((latest, entry) => (latest && latest.at > entry.at ? latest : entry), null);
  const group = latest?.codes ? interpretDecline(latest.codes, proposal.instrument).group : "UNKNOWN";
  // An error or "declined" hides the actual return code.
  const isCodeKnown = group === "FUNDS" || endsRetries(group);
  const checked = Number.isFinite(debit.presentationsMax) ? "the number and the dates" : "the dates";
  const limitation = isCodeKnown
    ? ""
    : ` The last return code was not reported, so Dunlin checks only ${checked} of presentations.`;
  const ruling = {
    sentence: `${debit.name} allows ${debit.words} ${citeSource(debit.source)}.${limitation}`,
    source: debit.source,
  };
  const count = debit.presentationsMax - times.length;
  return {
    usedUp: count <= 0 ? ruling : null,
    attemptsLeft: count > 0 ? { ...ruling, count } : null,
    notAfter: times.length > 0 ? { ...ruling, at: times[0]! + debit.withinMs } : null,
  };
}

/** An attempt reported up to this long after the invoice may be its first one. */
const FIRST_REPORT_DELAY_MS = DAY_MS;

/** An unpaid invoice was attempted once, even if no transaction reports it. */
function findUnreportedFirstAttempt({ firstTriedAt, ledger }: ProposedAttempt): number[] {
  if (firstTriedAt === null) return [];
  const isSeen = ledger.some(
    (entry) => entry.onThisInvoice && entry.onPresentCard && +entry.at <= +firstTriedAt + FIRST_REPORT_DELAY_MS,
  );
  return isSeen ? [] : [firstTriedAt.getTime()];
}

function describeLimit(network: CardNetwork, limit: AttemptLimit) {
  if (limit.source === SOURCES.unknownCards)
    return `${isUnknownNetwork(network) ? "The card network is not known" : `The limits of ${network.name} are not available`}, so Dunlin applies the strictest limit: ${limit.words} (Visa and Mastercard).`;
  if (limit.source === SOURCES.otherCards)
    return `${network.name} publishes no limit, so Dunlin applies Visa's: ${limit.words}.`;
  return `${network.name} allows at most ${limit.words} ${citeSource(limit.source)}.`;
}

const isUnknownNetwork = ({ name }: CardNetwork) => name === UNKNOWN_NETWORK.name;

/**
 * Null if allowed, also up to `earlyMs` before; the merchant's quiet times hold only for the time itself. Limits hold in every rolling window that contains the attempt, also with attempts
 * requested for later. Both ends belong to a window.
 *
 * @param at  in milliseconds since 1970
 */
export function findForbiddingRule(guard: Guard, at: number): Ruling | null {
  if (guard.block) return guard.block;
  if (guard.usedUp) return guard.usedUp;
  if (guard.notBefore && at - guard.earlyMs < guard.notBefore.at) return guard.notBefore;
  if (guard.notAfter && at > guard.notAfter.at) return guard.notAfter;
  for (const limit of guard.limits) if (overfills(limit, at, guard.earlyMs)) return limit;
  return guard.quiet?.rulingAt(at) ?? null;
}

export const forbidsAnyTime = ({ block, usedUp, notBefore, notAfter, limits, quiet }: Guard): boolean =>
  (block ?? usedUp ?? notBefore ?? notAfter ?? quiet) !== null ||
  limits.some(({ times, attemptsMax }) => times.length >= attemptsMax);

/**
 * A fullest window can be shifted to begin at an attempt; it is overfull if the attempt `attemptsMax` positions later falls
 * inside.
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
