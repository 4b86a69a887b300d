import type { DecisionAccount, EvaluatedHour, EvaluatedTime, SentenceIndex } from "../domain/decision.ts";
import { MINUTE_MS } from "../domain/durations.ts";
import { updateFormerSentences } from "../domain/payment-method-names.ts";

type EvenlySpaced = NonNullable<DecisionAccount["even"]>;
type NumericField = "days" | "hours" | "even";
/** Where an earlier program made it, nothing says what its sentences are about. */
type AccountSentences = Omit<DecisionAccount, NumericField | "about" | "knowsFailure"> &
  Partial<Pick<DecisionAccount, "about" | "knowsFailure">>;

/** An account as it is stored: its sentences, and all its numbers as one text. */
export type StoredDecisionAccount = AccountSentences & {
  /**
   * Days, hours with their chances, even tries, the plan beside them, what both reach, and a plan of as many tries where it was worked out, and what hours are worth. A moment is minutes since the one
   * before it, a share is in ten-thousandths, and `-` is null. Earlier programs kept with the chance of an hour what that one try was worth, and had no list
   * for more. An account has some hundred and fifty numbers. With its sentences it is some 1,600 characters so, where it was 2,300, and PostgreSQL does not compress
   * its row: that takes 1,660 bytes in place of 1,380, and a fifth less of PostgreSQL's CPU where cases are planned anew.
   */
  numbers: string;
};

/** Accounts of earlier programs had lists of prospects and moments; later ones their numbers as texts, moments in milliseconds of the epoch. */
export type FormerDecisionAccount = Omit<AccountSentences, "hourDrawn" | "spread"> & {
  hourDrawn?: boolean;
  spread?: boolean;
  days: string | EvaluatedTime[];
  hours: string | EvaluatedTime[];
  even:
    | (Omit<EvenlySpaced, "tries" | "plan" | "asMany"> & { tries: string | number[]; plan: string | number[] })
    | null;
};

/** As it is stored: moments in minutes, shares to the ten-thousandth. */
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

function unpackEvenlySpaced(tries: Date[], plan: Date[], reached: readonly number[]): EvenlySpaced {
  const [recovers, worth, planRecovers, planWorth, manyRecover, manyWorth] = reached as [
    number,
    number,
    number,
    number,
    number?,
    number?,
  ];
  const asMany = manyWorth === undefined ? null : { recovers: manyRecover!, worth: manyWorth };
  return { tries, recovers, worth, plan, planRecovers, planWorth, asMany };
}

/** What the sentences of an earlier program are about: told by their words. */
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

/** As it was before it was stored. */
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
  const [days, hours, tries, plan, reached, hoursWorth] = numbers
    .split("/")
    .map((list) => (list === "" ? [] : list.split(" ").map(Number)));
  return {
    ...sentences,
    ...read,
    days: unpackProspects(days!),
    hours: hoursWorth ? unpackHourProspects(hours!, hoursWorth) : unpackProspects(hours!).map(withoutExpectedValue),
    even:
      reached!.length > 0
        ? unpackEvenlySpaced(unpackTimes(tries!), unpackTimes(plan!), reached!.map(fromTenThousandths))
        : null,
  };
}

const toTenThousandths = (share: number) => Math.round(share * 10_000);
const fromTenThousandths = (tenThousandths: number) => tenThousandths / 10_000;

function packTimes(moments: readonly Date[]): number[] {
  let before = 0;
  return moments.map((at) => {
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

/** The moments of all of them, then what is said of each. */
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

/** What earlier programs kept of an hour was the worth of that one try, which compares with nothing else that is said. */
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
  const momentsOf = (list: string | number[]) => numbersOf(list).map((at) => new Date(at));
  return {
    days: prospectsOf(days),
    hours: prospectsOf(hours).map(withoutExpectedValue),
    even: even && { ...even, tries: momentsOf(even.tries), plan: momentsOf(even.plan), asMany: null },
  };
}
