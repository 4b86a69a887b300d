import type { About, Account, HourProspect, Prospect } from "../domain/decision.ts";
import { MINUTE_MS } from "../domain/durations.ts";
import { saidAsNow } from "../domain/payment-words.ts";

type Even = NonNullable<Account["even"]>;
type Numbers = "days" | "hours" | "even";
/** Where an earlier program made it, nothing says what its sentences are about. */
type Sentences = Omit<Account, Numbers | "about" | "knowsFailure"> & Partial<Pick<Account, "about" | "knowsFailure">>;

/** An account as it is stored: its sentences, and all its numbers as one text. */
export type StoredAccount = Sentences & {
  /**
   * Days, hours with their chances, even tries, the plan beside them, what both reach, and a plan of as many tries where it was worked out, and what hours are worth. A moment is minutes since the one
   * before it, a share is in ten-thousandths, and `-` is null. Earlier programs kept with the chance of an hour what that one try was worth, and had no list
   * for more. An account has some hundred and fifty numbers. With its sentences it is some 1,600 characters so, where it was 2,300, and PostgreSQL does not compress
   * its row: that takes 1,660 bytes in place of 1,380, and a fifth less of PostgreSQL's CPU where cases are planned anew.
   */
  numbers: string;
};

/** Accounts of earlier programs had lists of prospects and moments; later ones their numbers as texts, moments in milliseconds of the epoch. */
export type FormerAccount = Omit<Sentences, "hourDrawn" | "spread"> & {
  hourDrawn?: boolean;
  spread?: boolean;
  days: string | Prospect[];
  hours: string | Prospect[];
  even: (Omit<Even, "tries" | "plan" | "asMany"> & { tries: string | number[]; plan: string | number[] }) | null;
};

/** As it is stored: moments in minutes, shares to the ten-thousandth. */
export function storedOf({ days, hours, even, ...sentences }: Account): StoredAccount {
  const lists = [
    prospectNumbers(days),
    [...momentNumbers(hours.map(({ at }) => at)), ...hours.map(({ chance }) => tenThousandths(chance))],
    momentNumbers(even?.tries ?? []),
    momentNumbers(even?.plan ?? []),
    even ? reachedOf(even).map(tenThousandths) : [],
    hours.map(({ worth }) => (worth === null ? "-" : tenThousandths(worth))),
  ];
  return { ...sentences, numbers: lists.map((list) => list.join(" ")).join("/") };
}

const reachedOf = ({ recovers, worth, planRecovers, planWorth, asMany }: Even) => [
  recovers,
  worth,
  planRecovers,
  planWorth,
  ...(asMany ? [asMany.recovers, asMany.worth] : []),
];

function evenOf(tries: Date[], plan: Date[], reached: readonly number[]): Even {
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
export function formerAbout(known: readonly string[], reasons: readonly string[]): About {
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
export function restored(stored: StoredAccount | FormerAccount): Account {
  const {
    ruledOut,
    hourDrawn = false,
    spread = false,
    about = formerAbout(stored.known, stored.reasons),
    knowsFailure = stored.known.some((sentence) => sentence.startsWith("A try failed on ")),
    ...rest
  } = stored;
  const times = ruledOut.map((each) => ({ ...each, from: new Date(each.from), to: new Date(each.to) }));
  const read = { known: saidAsNow(stored.known), about, knowsFailure, ruledOut: times, hourDrawn, spread };
  if (!("numbers" in rest)) return { ...rest, ...formerNumbers(rest), ...read };
  const { numbers, ...sentences } = rest;
  const [days, hours, tries, plan, reached, hoursWorth] = numbers
    .split("/")
    .map((list) => (list === "" ? [] : list.split(" ").map(Number)));
  return {
    ...sentences,
    ...read,
    days: prospects(days!),
    hours: hoursWorth ? hourProspects(hours!, hoursWorth) : prospects(hours!).map(withoutWorth),
    even: reached!.length > 0 ? evenOf(moments(tries!), moments(plan!), reached!.map(share)) : null,
  };
}

const tenThousandths = (share: number) => Math.round(share * 10_000);
const share = (tenThousandths: number) => tenThousandths / 10_000;

function momentNumbers(moments: readonly Date[]): number[] {
  let before = 0;
  return moments.map((at) => {
    const minutes = (at.getTime() - before) / MINUTE_MS;
    before = at.getTime();
    return minutes;
  });
}

function moments(numbers: readonly number[]): Date[] {
  let at = 0;
  return numbers.map((minutes) => {
    at += Math.round(minutes * MINUTE_MS);
    return new Date(at);
  });
}

function prospectNumbers(prospects: readonly Prospect[]): number[] {
  const numbers = momentNumbers(prospects.map(({ at }) => at));
  for (const { chance, worth } of prospects) numbers.push(tenThousandths(chance), tenThousandths(worth));
  return numbers;
}

/** The moments of all of them, then what is said of each. */
function prospects(numbers: readonly number[]): Prospect[] {
  const count = numbers.length / 3;
  return moments(numbers.slice(0, count)).map((at, n) => ({
    at,
    chance: share(numbers[count + 2 * n]!),
    worth: share(numbers[count + 2 * n + 1]!),
  }));
}

function hourProspects(numbers: readonly number[], worth: readonly number[]): HourProspect[] {
  const count = worth.length;
  return moments(numbers.slice(0, count)).map((at, n) => ({
    at,
    chance: share(numbers[count + n]!),
    worth: Number.isNaN(worth[n]!) ? null : share(worth[n]!),
  }));
}

/** What earlier programs kept of an hour was the worth of that one try, which compares with nothing else that is said. */
const withoutWorth = (hour: Prospect): HourProspect => ({ ...hour, worth: null });

function formerNumbers({ days, hours, even }: Pick<FormerAccount, Numbers>): Pick<Account, Numbers> {
  const numbersOf = (list: string | number[]) =>
    typeof list === "string" ? (list === "" ? [] : list.split(" ").map(Number)) : list;
  const prospectsOf = (list: string | Prospect[]) => {
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
    hours: prospectsOf(hours).map(withoutWorth),
    even: even && { ...even, tries: momentsOf(even.tries), plan: momentsOf(even.plan), asMany: null },
  };
}
