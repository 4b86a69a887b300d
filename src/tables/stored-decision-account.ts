import type { DecisionAccount, EvaluatedHour, EvaluatedTime, SentenceIndex } from "../domain/decision.ts";
import { MINUTE_MS } from "../domain/durations.ts";
import { updateFormerSentences } from "../domain/payment-method-names.ts";

type EvenlySpaced = NonNullable<DecisionAccount["even"]>;
type NumericField = "days" | "hours" | "even";
/** Accounts of earlier versions have no topics. */
type AccountSentences = Omit<DecisionAccount, NumericField | "about" | "knowsFailure"> &
  Partial<Pick<DecisionAccount, "about" | "knowsFailure">>;

/** A stored account: its sentences, and all numbers as one text. */
export type StoredDecisionAccount = AccountSentences & {
  /**
   * Lists separated by `/`: days, hours with their chances, evenly spaced retries, the plan, the values of both (and of a plan
   * with as many retries), and the expected values of hours.
   *
   * A time is minutes after the previous one, a fraction is in ten-thousandths, and `-` is null. Earlier versions stored another
   * value with the chance of an hour, and had no last list.
   *
   * Packed because an account has about 150 numbers: this saves 30% of the text, and a fifth of PostgreSQL's CPU time when cases
   * are replanned.
   */
  numbers: string;
};

/** Accounts of earlier versions: lists of times and objects, or numbers as texts with times in epoch milliseconds. */
export type FormerDecisionAccount = Omit<AccountSentences, "hourDrawn" | "spread"> & {
  hourDrawn?: boolean;
  spread?: boolean;
  days: string | EvaluatedTime[];
  hours: string | EvaluatedTime[];
  even:
    | (Omit<EvenlySpaced, "tries" | "plan" | "asMany"> & { tries: string | number[]; plan: string | number[] })
    | null;
};

/** Rounds times to minutes and fractions to ten-thousandths. */
export function toStoredAccount({ days, hours, even, ...sentences }: DecisionAccount): StoredDecisionAccount {
  const lists = [
    packProspects(days),
    [...packTimes(hours.map(({ at }) => at)), ...hours.map(({ chance }) => toTenThousandths(chance))],
    packTimes(even?.tries ?? []),
    packTimes(even?.plan ?? []),
    even ? packEvenlySpacedValues(even).map(toTenThousandths) : [],
    hours.map(({ worth }) => (worth === null ? "-" : toTenThousandths(worth))),
  ];
  return { ...sentences, numbers: lists.map((list) => list.join(" ")).join("/") };
}

const packEvenlySpacedValues = ({ recovers, worth, planRecovers, planWorth, asMany }: EvenlySpaced) => [
  recovers,
  worth,
  planRecovers,
  planWorth,
  ...(asMany ? [asMany.recovers, asMany.worth] : []),
];

function unpackEvenlySpaced(tries: Date[], plan: Date[], packedValues: readonly number[]): EvenlySpaced {
  const [recovers, worth, planRecovers, planWorth, asManyRecovers, asManyWorth] = packedValues as [
    number,
    number,
    number,
    number,
    number?,
    number?,
  ];
  const asMany = asManyWorth === undefined ? null : { recovers: asManyRecovers!, worth: asManyWorth };
  return { tries, recovers, worth, plan, planRecovers, planWorth, asMany };
}

/** Infers the topics of an earlier version's sentences from their words. */
export function inferSentenceTopics(known: readonly string[], reasons: readonly string[]): SentenceIndex {
  const places = (sentences: readonly string[], words: RegExp) =>
    sentences.flatMap((sentence, place) => (words.test(sentence) ? place : []));
  return {
    wait: places(reasons, /no try comes sooner|is heard first|not within 30 days of/),
    rule: places(reasons, /^After this one, [^.]+\. .|is the merchant's to say\.$/),
    limit: places(known, /Counted so far:|Tries left by this rule:|for this card, declined or not answered\.$/),
    tally: places(known, /failed before those that follow\.$/),
  };
}

export function fromStoredAccount(stored: StoredDecisionAccount | FormerDecisionAccount): DecisionAccount {
  const {
    ruledOut,
    hourDrawn = false,
    spread = false,
    about = inferSentenceTopics(stored.known, stored.reasons),
    knowsFailure = stored.known.some((sentence) => sentence.startsWith("A try failed on ")),
    ...rest
  } = stored;
  const times = ruledOut.map((each) => ({ ...each, from: new Date(each.from), to: new Date(each.to) }));
  const read = { known: updateFormerSentences(stored.known), about, knowsFailure, ruledOut: times, hourDrawn, spread };
  if (!("numbers" in rest)) return { ...rest, ...unpackFormerNumbers(rest), ...read };
  const { numbers, ...sentences } = rest;
  const [days, hours, tries, plan, packedValues, hoursWorth] = numbers
    .split("/")
    .map((list) => (list === "" ? [] : list.split(" ").map(Number)));
  return {
    ...sentences,
    ...read,
    days: unpackProspects(days!),
    hours: hoursWorth ? unpackHourProspects(hours!, hoursWorth) : unpackProspects(hours!).map(withoutExpectedValue),
    even:
      packedValues!.length > 0
        ? unpackEvenlySpaced(unpackTimes(tries!), unpackTimes(plan!), packedValues!.map(fromTenThousandths))
        : null,
  };
}

const toTenThousandths = (share: number) => Math.round(share * 10_000);
const fromTenThousandths = (tenThousandths: number) => tenThousandths / 10_000;

function packTimes(times: readonly Date[]): number[] {
  let before = 0;
  return times.map((at) => {
    const minutes = (at.getTime() - before) / MINUTE_MS;
    before = at.getTime();
    return minutes;
  });
}

function unpackTimes(numbers: readonly number[]): Date[] {
  let at = 0;
  return numbers.map((minutes) => {
    at += Math.round(minutes * MINUTE_MS);
    return new Date(at);
  });
}

function packProspects(prospects: readonly EvaluatedTime[]): number[] {
  const numbers = packTimes(prospects.map(({ at }) => at));
  for (const { chance, worth } of prospects) numbers.push(toTenThousandths(chance), toTenThousandths(worth));
  return numbers;
}

/** All times come first, then two values for each. */
function unpackProspects(numbers: readonly number[]): EvaluatedTime[] {
  const count = numbers.length / 3;
  return unpackTimes(numbers.slice(0, count)).map((at, n) => ({
    at,
    chance: fromTenThousandths(numbers[count + 2 * n]!),
    worth: fromTenThousandths(numbers[count + 2 * n + 1]!),
  }));
}

function unpackHourProspects(numbers: readonly number[], worth: readonly number[]): EvaluatedHour[] {
  const count = worth.length;
  return unpackTimes(numbers.slice(0, count)).map((at, n) => ({
    at,
    chance: fromTenThousandths(numbers[count + n]!),
    worth: Number.isNaN(worth[n]!) ? null : fromTenThousandths(worth[n]!),
  }));
}

/** Earlier versions stored the value of a single retry, which cannot be compared with a plan's. */
const withoutExpectedValue = (hour: EvaluatedTime): EvaluatedHour => ({ ...hour, worth: null });

function unpackFormerNumbers({
  days,
  hours,
  even,
}: Pick<FormerDecisionAccount, NumericField>): Pick<DecisionAccount, NumericField> {
  const numbersOf = (list: string | number[]) =>
    typeof list === "string" ? (list === "" ? [] : list.split(" ").map(Number)) : list;
  const prospectsOf = (list: string | EvaluatedTime[]) => {
    if (typeof list !== "string") return list.map((each) => ({ ...each, at: new Date(each.at) }));
    const numbers = numbersOf(list);
    return Array.from({ length: numbers.length / 3 }, (_, n) => ({
      at: new Date(numbers[3 * n]!),
      chance: numbers[3 * n + 1]!,
      worth: numbers[3 * n + 2]!,
    }));
  };
  const timesOf = (list: string | number[]) => numbersOf(list).map((at) => new Date(at));
  return {
    days: prospectsOf(days),
    hours: prospectsOf(hours).map(withoutExpectedValue),
    even: even && { ...even, tries: timesOf(even.tries), plan: timesOf(even.plan), asMany: null },
  };
}
