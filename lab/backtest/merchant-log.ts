import type { Episode, EpisodeDecision } from "../../src/backtest/estimate.ts";
import { RETRY_GAPS, STOP_CHOICE } from "../../src/backtest/retry-gaps.ts";
import { createRandom } from "../experiments/random-numbers.ts";

/** A way of trying again: the choice after failure `k` of a kind of decline, `dayOf` days after the first failure. */
export type RetryStrategy = (k: number, kind: number, dayOf: number) => number;

const WINDOW_DAYS = 28;
const MAX_ATTEMPTS = 6;
const DECLINE_KIND_COUNT = 3;

/** The gap that the merchant's system likes best, by the kind of the decline. */
export const USUAL_GAPS = [2, 4, 3] as const;
const LAST_DAY = 40;
/** Of a card that does not work, or not this week: even these come to work in a world in which nearly all does. */
const HARDLY_CHANCE = 0.002;

/**
 * A merchant whose system chooses its gaps by chance, with known odds: by how often it has tried, by the decline, and by the days that
 * are left. Its customers differ in ways that no log shows: when their money comes, and whether their card will work at all.
 */
const buildOddsTable = ({ least, falls }: { least: number; falls: number }) =>
  Array.from({ length: MAX_ATTEMPTS * DECLINE_KIND_COUNT * LAST_DAY }, (_, index) => {
    const [k, kind] = [
      Math.floor(index / (DECLINE_KIND_COUNT * LAST_DAY)),
      Math.floor(index / LAST_DAY) % DECLINE_KIND_COUNT,
    ];
    const dayOf = index % LAST_DAY;
    const gaps = RETRY_GAPS.map(({ from }, gap) => {
      if (k === MAX_ATTEMPTS - 1 || dayOf + from > WINDOW_DAYS) return 0;
      return least + 3 * Math.exp(-falls * Math.abs(gap - USUAL_GAPS[kind]! - 0.5 * k));
    });
    const stop = 0.3 + 0.3 * k;
    const total = gaps.reduce((sum, chance) => sum + chance, stop);
    return [...gaps, stop].map((chance) => chance / total);
  });
const ODDS_TABLES = {
  varied: buildOddsTable({ least: 0.15, falls: 0.8 }),
  steady: buildOddsTable({ least: 0.02, falls: 2.5 }),
};
const findOdds = (isSteady: boolean, k: number, kind: number, dayOf: number) =>
  ODDS_TABLES[isSteady ? "steady" : "varied"][
    (k * DECLINE_KIND_COUNT + kind) * LAST_DAY + Math.min(dayOf, LAST_DAY - 1)
  ]!;

/** Days of a gap, as the merchant's system draws them. */
function drawGapDays(gap: number, draw: number): number {
  const { from } = RETRY_GAPS[gap]!;
  const next = RETRY_GAPS[gap + 1]?.from ?? from + 4;
  return from + Math.floor(draw * (next - from));
}

/** Failed invoices and what was done about them. */
export interface LogOptions {
  /** Customers; one in three has two failed invoices. */
  customers: number;
  /** So many first decisions are made as the first judged way does: 0 in a history, those it owns in the truth. */
  depth: number;
  /** How much likelier tries succeed than usual: what is added to the logarithm of their odds. */
  ease?: number;
  /** It seldom departs from the gap that it likes best, so that a way which takes that one can be followed for more tries. */
  isSteady?: boolean;
}

interface FailedInvoice {
  amount: number;
  /** Chance that the card works at all for one more week, days until the money comes. */
  broken: boolean;
  moneyOn: number;
  works: number;
  kind: number;
}

/** A log that says with which chances choices were made, and for each decision in it what other ways would have chosen. */
export interface MerchantLog {
  episodes: Episode[];
  /** By way, episode and decision. */
  chosen: number[][][];
}

/** A log of the merchant, beside the `judged` ways; another seed, another stretch of its history. */
export function createMerchantLog(options: LogOptions, judged: readonly RetryStrategy[], seed: number): MerchantLog {
  const random = createRandom(seed);
  const log: MerchantLog = { episodes: [], chosen: judged.map(() => []) };
  for (let customer = 0; customer < options.customers; customer++) {
    const broken = random() < 0.2;
    const works = 0.5 + 0.4 * random();
    for (let bills = random() < 1 / 3 ? 2 : 1; bills > 0; bills--) {
      const kind = Math.floor(random() * DECLINE_KIND_COUNT);
      const moneyOn = [2, 6, 12][kind]! + Math.floor(14 * random() ** 2);
      const amount = Math.round(2000 * Math.exp(0.7 * (random() + random() + random() - 1.5) * 2));
      addEpisode(log, `cus_${customer}`, { amount, broken, moneyOn, works, kind }, options, judged, random);
    }
  }
  return log;
}

/** Numbers of the groups of decisions: by tries, by the decline too, by the weeks left too. */
function findGroups(k: number, kind: number, dayOf: number) {
  const both = k * DECLINE_KIND_COUNT + kind;
  const weeks = Math.min(4, Math.max(0, Math.ceil((WINDOW_DAYS - dayOf) / 7)));
  return [k, MAX_ATTEMPTS + both, MAX_ATTEMPTS * (1 + DECLINE_KIND_COUNT) + both * 5 + weeks];
}

function addEpisode(
  log: MerchantLog,
  customerId: string,
  { amount, broken, moneyOn, works, kind }: FailedInvoice,
  { depth, ease = 0, isSteady = false }: LogOptions,
  judged: readonly RetryStrategy[],
  random: () => number,
) {
  const decisions: EpisodeDecision[] = [];
  const chosen = judged.map((): number[] => []);
  let dayOf = 0;
  let said = kind;
  for (let k = 0; ; k++) {
    const chances = findOdds(isSteady, k, said, dayOf);
    const drawn = pickChoice(chances, random());
    judged.forEach((way, index) => {
      chosen[index]!.push(way(k, said, dayOf));
    });
    const choice = k < depth ? chosen[0]![k]! : drawn;
    const situation = findGroups(k, said, dayOf);
    const stops = choice === STOP_CHOICE;
    if (!stops) dayOf += drawGapDays(choice, random());
    const usual = broken ? HARDLY_CHANCE : works * (dayOf >= moneyOn ? 0.75 : 0.08);
    const odds = (Math.exp(ease) * usual) / (1 - usual);
    const succeeded = !stops && random() < odds / (1 + odds);
    decisions.push({ situation, choice, chance: chances[choice]!, succeeded });
    if (stops || succeeded) break;
    // The next decline may read otherwise.
    if (random() < 0.2) said = Math.floor(random() * DECLINE_KIND_COUNT);
  }
  log.episodes.push({ customerId, amount, decisions });
  chosen.forEach((choices, index) => {
    log.chosen[index]!.push(choices);
  });
}

function pickChoice(chances: readonly number[], draw: number): number {
  let left = draw;
  for (let choice = 0; choice < chances.length; choice++) {
    left -= chances[choice]!;
    if (left < 0) return choice;
  }
  return STOP_CHOICE;
}
