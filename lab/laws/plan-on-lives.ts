export interface Slot {
  at: number;
  /** By life: 1 or 0. */
  paid: Uint8Array;
  chance: number;
  value: number;
}

const ROUND_COUNT = 2;

/**
 * The slots with the highest total value over all lives, in order, or none if none is worth its cost.
 *
 * @param slots  in order of time
 * @param cost  as a share of the amount
 * @param restMs  between two retries
 */
export function planOnLives(slots: readonly Slot[], retryCount: number, cost: number, restMs: number): Slot[] {
  const lives = slots[0]?.paid.length ?? 0;
  const open = new Float64Array(lives);
  let plan: Slot[] = [];
  let most = 0;

  function valueOfPlan(plan: readonly Slot[]): number {
    open.fill(1);
    let total = 0;
    let remaining = lives;
    for (const { paid, chance, value } of plan) {
      let paidLives = 0;
      for (let life = 0; life < lives; life++) {
        if (paid[life] === 0) continue;
        paidLives += open[life]!;
        open[life]! *= 1 - chance;
      }
      total += paidLives * chance * value - cost * remaining;
      remaining -= paidLives * chance;
    }
    return total / lives;
  }

  function extend(keptSlots: readonly Slot[]): boolean {
    const before = most;
    for (const slot of slots) {
      if (keptSlots.some(({ at }) => at === slot.at || Math.abs(at - slot.at) < restMs)) continue;
      const candidate = [...keptSlots, slot].sort((a, b) => a.at - b.at);
      const value = valueOfPlan(candidate);
      if (value <= most + MIN_GAIN) continue;
      most = value;
      plan = candidate;
    }
    return most > before;
  }

  while (plan.length < retryCount && extend(plan));
  for (let round = 0; round < ROUND_COUNT; round++)
    for (const slot of plan) extend(plan.filter((each) => each !== slot));
  return plan;
}

const MIN_GAIN = 1e-9;
