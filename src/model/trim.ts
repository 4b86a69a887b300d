import type { Learned } from "./learned.ts";
import { density, phi, probit } from "./normal.ts";

const WIDTH = 4;
const VARIANCE_MIN = 0.0008;

/**
 * A chance as experience with chosen tries corrects it: Φ(a + b·Φ⁻¹(p)), a and b by class of reason.
 *
 * Whoever picks the best of many uncertain numbers picks those that came out too high. The line is learned from the
 * tries that were made, so it takes off what choosing put on, above one half too.
 */
export function trimmed({ trim }: Learned, of: number, chance: number): number {
  return phi(trim[of * WIDTH]! + trim[of * WIDTH + 1]! * probit(chance));
}

/** Learn the correction from one try; `chance` as it was before correction. Assumed-density filtering of a probit. */
export function learnTrim({ trim }: Learned, of: number, chance: number, approved: boolean) {
  const at = of * WIDTH;
  const x = Math.max(-2.5, Math.min(2.5, probit(chance)));
  const spread = Math.sqrt(1 + trim[at + 2]! + x * x * trim[at + 3]!);
  const sign = approved ? 1 : -1;
  const z = (sign * (trim[at]! + trim[at + 1]! * x)) / spread;
  const v = density(z) / Math.max(phi(z), 1e-5);
  const h = v * (v + z);
  [1, x].forEach((input, n) => {
    const variance = trim[at + 2 + n]!;
    trim[at + n]! += (sign * input * variance * v) / spread;
    trim[at + 2 + n] = Math.max(
      VARIANCE_MIN,
      variance * (1 - Math.min(0.9, (input * input * variance * h) / (spread * spread))),
    );
  });
}
