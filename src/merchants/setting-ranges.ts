/** Whole numbers that a setting may have, both ends included. */
export const SETTING_RANGES = {
  leadMinutes: [0, 1440],
  windowDays: [1, 365],
  budget: [0, 100],
  /** Minor units. */
  smallestAmount: [0, Number.MAX_SAFE_INTEGER],
  ratePerSecond: [1, 1_000_000],
  rateBurst: [1, 1_000_000],
} as const satisfies Record<string, readonly [min: number, max: number]>;
