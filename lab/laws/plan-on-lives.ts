export interface Slot {
  at: number;
  /** By life: 1 or 0. */
  paid: Uint8Array;
  chance: number;
  worth: number;
}

const ROUND_COUNT = 2;

/**
 * Returns the slots with the highest total value over all lives, in order, or none if none is worth its cost. Judges plans by
 * each life's outcomes, because a failed attempt shows which lives are possible.
 *
 * @param slots  in order of time
 * @param cost  of a retry, as a share of the amount
 * @param restMs  least time between two retries
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

const MIN_GAIN = 1e-9;
