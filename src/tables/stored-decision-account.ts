import type { DecisionAccount, EvaluatedHour, EvaluatedTime, SentenceIndex } from "../domain/decision.ts";
import { MINUTE_MS } from "../domain/durations.ts";

type EvenlySpaced = NonNullable<DecisionAccount["even"]>;
type AccountSentences = Omit<DecisionAccount, "days" | "hours" | "even">;

/** Its sentences, and all numbers as one text. */
export type StoredDecisionAccount = AccountSentences & {
  /**
   * Lists separated by `/`: days, hours with their chances, evenly spaced retries, the plan, the values of both (and of a plan
   * with as many retries), and the hours' expected values. A time is minutes after the previous one, a fraction is in
   * ten-thousandths, and `-` is null. Packed, because 150 numbers per account would cost much text and CPU time.
   */
  numbers: string;
};

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

export const NO_TOPICS: SentenceIndex = { wait: [], rule: [], limit: [], tally: [] };

/** Before version 0.2.0, accounts had no figures. */
export function fromStoredAccount(stored: StoredDecisionAccount): DecisionAccount {
  const { numbers = "", about = NO_TOPICS, knowsFailure = false, ruledOut, ...sentences } = stored;
  const [days, hours, tries, plan, packedValues, hoursWorth] = numbers
    .split("/")
    .map((list) => (list === "" ? [] : list.split(" ").map(Number)));
  return {
    ...sentences,
    about,
    knowsFailure,
    hourDrawn: stored.hourDrawn ?? false,
    spread: stored.spread ?? false,
    ruledOut: ruledOut.map((each) => ({ ...each, from: new Date(each.from), to: new Date(each.to) })),
    days: unpackProspects(days ?? []),
    hours: hoursWorth ? unpackHourProspects(hours!, hoursWorth) : [],
    even:
      packedValues && packedValues.length > 0
        ? unpackEvenlySpaced(unpackTimes(tries!), unpackTimes(plan!), packedValues.map(fromTenThousandths))
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

/** All times, then two values for each. */
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
