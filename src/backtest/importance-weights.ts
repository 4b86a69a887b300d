import type { BehaviorModel } from "./behavior-model.ts";
import type { Episode } from "./estimate.ts";
import { STOP_CHOICE } from "./retry-gaps.ts";

/** More than this share of the choices unseen, and the answer would be invented. */
export const MAX_UNSEEN_SHARE = 0.05;
/** A choice that was made less often than this in alike situations was not really seen. */
const MIN_SEEN_COUNT = 5;
const MIN_PROPENSITY = 0.005;
/** So many standard errors are no accident. */
const SIGNIFICANT_STANDARD_ERRORS = 3;

/** How a history speaks for a way. */
export interface EpisodeWeights {
  /** By decision and episode. */
  weights: Float64Array[];
  /** By episode, at which decision the way gives up; infinite: at none. */
  stopped: Float64Array;
  /** So many invoices drawn at random would tell as much. */
  effective: number;
  /** Share of the choices that the merchant's system hardly ever made, in such situations. */
  unseen: number;
  /**
   * What was done alike, each by one over its chance, adds up to as much as all for which it stands, whatever the chances are. Those that a history states need not:
   * they may be untrue, or those of a system that never does alike for some invoices. Then: to how many times as much they add up; null: they fit.
   */
  standsFor: number | null;
  /** Share of what the way does not give up at once. */
  asked: number;
}

/**
 * How much each episode speaks for the way that is judged, after each of its decisions: none once the two differed, and the more the
 * seldomer the merchant's system chooses so. An invoice that is over keeps its weight.
 */
export function weighEpisodes(
  episodes: readonly Episode[],
  chosen: readonly (readonly number[])[],
  depth: number,
  weightOf: (episode: Episode) => number,
  habits: BehaviorModel,
): EpisodeWeights {
  const weights: Float64Array[] = [];
  let former = Float64Array.from(episodes, weightOf);
  /** At which decision the judged way gives up. */
  const stopped = new Float64Array(episodes.length).fill(Number.POSITIVE_INFINITY);
  let effective = episodes.length;
  let unseen = 0;
  let standsFor: number | null = null;
  for (let k = 0; k < depth; k++) {
    const now = Float64Array.from(former);
    let [asked, before, live, squares, apart, blind] = [0, 0, 0, 0, 0, 0];
    let isStated = false;
    episodes.forEach(({ decisions }, i) => {
      const decided = decisions[k];
      if (!decided || stopped[i]! < k) return;
      const wanted = chosen[i]![k]!;
      if (wanted === STOP_CHOICE) {
        stopped[i] = k;
        return;
      }
      asked++;
      const { situation, choice, chance } = decided;
      if (habits.seen(situation, wanted) < MIN_SEEN_COUNT) blind += former[i]!;
      now[i] =
        choice === wanted ? former[i]! / Math.max(chance ?? habits.chance(situation, choice), MIN_PROPENSITY) : 0;
      isStated ||= chance !== null;
      before += former[i]!;
      live += now[i]!;
      squares += now[i]! ** 2;
      apart += (now[i]! - former[i]!) ** 2;
    });
    const off = Math.abs(live - before) - SIGNIFICANT_STANDARD_ERRORS * Math.sqrt(apart);
    if (isStated && off > MAX_UNSEEN_SHARE * before) standsFor ??= live / before;
    unseen += blind / sum(former);
    if (asked > 0) effective = Math.min(effective, squares > 0 ? live ** 2 / squares : 0);
    weights.push(now);
    former = now;
  }
  const first = episodes.reduce((total, episode, i) => total + (stopped[i] === 0 ? 0 : weightOf(episode)), 0);
  return { weights, stopped, effective, unseen, standsFor, asked: first / sum(Float64Array.from(episodes, weightOf)) };
}

export const sum = (values: Float64Array) => values.reduce((total, value) => total + value, 0);
