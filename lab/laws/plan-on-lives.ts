/** A moment at which a try may be made. */
export interface Slot {
  at: number;
  /** Whether the charge would be paid in each life, 1, or not, 0. */
  paid: Uint8Array;
  /** The chance of a charge that would be paid: that the bank is up, and refuses nothing without a reason. */
  chance: number;
  /** What a recovery is worth then, as a share of the amount. */
  worth: number;
}

/** Moving each try of a plan to where it is best, so many times over. */
const ROUND_COUNT = 2;

/**
 * The slots that bring most in all lives together, in order of time; none where nothing brings what it costs. A try in vain
 * tells in which lives one may be, so plans are valued by what each life goes through and not by chances alone.
 *
 * @param slots  in order of time
 * @param cost  of a try, as a share of the amount
 * @param restMs  at least so much between two tries
 */
export function planOnLives(slots: readonly Slot[], tries: number, cost: number, restMs: number): Slot[] {
  const lives = slots[0]?.paid.length ?? 0;
  const open = new Float64Array(lives);
  let plan: Slot[] = [];
  let most = 0;

  function worthOf(tried: readonly Slot[]): number {
    open.fill(1);
    let value = 0;
    let left = lives;
    for (const { paid, chance, worth } of tried) {
      let met = 0;
      for (let life = 0; life < lives; life++) {
        if (paid[life] === 0) continue;
        met += open[life]!;
        open[life]! *= 1 - chance;
      }
      value += met * chance * worth - cost * left;
      left -= met * chance;
    }
    return value / lives;
  }

  /** The best plan with one slot more than `kept`, if it is better than what there is. */
  function extend(kept: readonly Slot[]): boolean {
    const before = most;
    for (const slot of slots) {
      if (kept.some(({ at }) => at === slot.at || Math.abs(at - slot.at) < restMs)) continue;
      const tried = [...kept, slot].sort((a, b) => a.at - b.at);
      const value = worthOf(tried);
      if (value <= most + MIN_GAIN) continue;
      most = value;
      plan = tried;
    }
    return most > before;
  }

  while (plan.length < tries && extend(plan));
  for (let round = 0; round < ROUND_COUNT; round++)
    for (const slot of plan) extend(plan.filter((each) => each !== slot));
  return plan;
}

/** Less is no gain, but rounding. */
const MIN_GAIN = 1e-9;
