import type { Episode, EpisodeDecision } from "../../src/backtest/estimate.ts";
import { RETRY_GAPS, STOP_CHOICE } from "../../src/backtest/retry-gaps.ts";
import { createRandom } from "../experiments/random-numbers.ts";

/** After failure `k`, `dayOf` days after the first one. */
export type RetryStrategy = (k: number, kind: number, dayOf: number) => number;

const WINDOW_DAYS = 28;
const MAX_ATTEMPTS = 6;
const DECLINE_KIND_COUNT = 3;

export const USUAL_GAPS = [2, 4, 3] as const;
const LAST_DAY = 40;
/** Success rate of a broken card. `ease` can raise it. */
const HARDLY_CHANCE = 0.002;

/** By attempts, decline kind, and days left. The log hides when customers have money and whether cards work. */
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

function drawGapDays(gap: number, draw: number): number {
  const { from } = RETRY_GAPS[gap]!;
  const next = RETRY_GAPS[gap + 1]?.from ?? from + 4;
  return from + Math.floor(draw * (next - from));
}

export interface LogOptions {
  /** A third of them have two failed invoices. */
  customers: number;
  depth: number;
  ease?: number;
  /** Rarely departs from its favorite gap. */
  isSteady?: boolean;
}

interface FailedInvoice {
  amount: number;
  broken: boolean;
  moneyOn: number;
  approvalRate: number;
  kind: number;
}

export interface MerchantLog {
  episodes: Episode[];
  choicesByStrategy: number[][][];
}

export function createMerchantLog(
  options: LogOptions,
  strategies: readonly RetryStrategy[],
  seed: number,
): MerchantLog {
  const random = createRandom(seed);
  const log: MerchantLog = { episodes: [], choicesByStrategy: strategies.map(() => []) };
  for (let customer = 0; customer < options.customers; customer++) {
    const broken = random() < 0.2;
    const approvalRate = 0.5 + 0.4 * random();
    for (let invoiceCount = random() < 1 / 3 ? 2 : 1; invoiceCount > 0; invoiceCount--) {
      const kind = Math.floor(random() * DECLINE_KIND_COUNT);
      const moneyOn = [2, 6, 12][kind]! + Math.floor(14 * random() ** 2);
      const amount = Math.round(2000 * Math.exp(0.7 * (random() + random() + random() - 1.5) * 2));
      addEpisode(log, `cus_${customer}`, { amount, broken, moneyOn, approvalRate, kind }, options, strategies, random);
    }
  }
  return log;
}

function findGroups(k: number, kind: number, dayOf: number) {
  const both = k * DECLINE_KIND_COUNT + kind;
  const weeks = Math.min(4, Math.max(0, Math.ceil((WINDOW_DAYS - dayOf) / 7)));
  return [k, MAX_ATTEMPTS + both, MAX_ATTEMPTS * (1 + DECLINE_KIND_COUNT) + both * 5 + weeks];
}

function addEpisode(
  log: MerchantLog,
  customerId: string,
  { amount, broken, moneyOn, approvalRate, kind }: FailedInvoice,
  { depth, ease = 0, isSteady = false }: LogOptions,
  strategies: readonly RetryStrategy[],
  random: () => number,
) {
  const decisions: EpisodeDecision[] = [];
  const choicesByStrategy = strategies.map((): number[] => []);
  let dayOf = 0;
  let lastKind = kind;
  for (let k = 0; ; k++) {
    const chances = findOdds(isSteady, k, lastKind, dayOf);
    const drawnChoice = pickChoice(chances, random());
    strategies.forEach((strategy, index) => {
      choicesByStrategy[index]!.push(strategy(k, lastKind, dayOf));
    });
    const choice = k < depth ? choicesByStrategy[0]![k]! : drawnChoice;
    const situation = findGroups(k, lastKind, dayOf);
    const stops = choice === STOP_CHOICE;
    if (!stops) dayOf += drawGapDays(choice, random());
    const usualChance = broken ? HARDLY_CHANCE : approvalRate * (dayOf >= moneyOn ? 0.75 : 0.08);
    const odds = (Math.exp(ease) * usualChance) / (1 - usualChance);
    const succeeded = !stops && random() < odds / (1 + odds);
    decisions.push({ situation, choice, chance: chances[choice]!, succeeded });
    if (stops || succeeded) break;
    if (random() < 0.2) lastKind = Math.floor(random() * DECLINE_KIND_COUNT);
  }
  log.episodes.push({ customerId, amount, decisions });
  choicesByStrategy.forEach((choices, index) => {
    log.choicesByStrategy[index]!.push(choices);
  });
}

function pickChoice(chances: readonly number[], draw: number): number {
  let remaining = draw;
  for (let choice = 0; choice < chances.length; choice++) {
    remaining -= chances[choice]!;
    if (remaining < 0) return choice;
  }
  return STOP_CHOICE;
}
