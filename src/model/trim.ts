import { type Learned, TRIM_WIDTH } from "./learned.ts";
import { density, phi, probit } from "./normal.ts";

const VARIANCE_MIN = 0.0008;

/**
 * A chance as experience with chosen tries corrects it: Φ(a + b·x + c·max(0, x)) with x = Φ⁻¹(p), by class of
 * reason.
 *
 * Whoever picks the best of many uncertain numbers picks those that came out too high. The line is learned from the
 * tries that were made, so it takes off what choosing put on, above one half too.
 */
export function trimmed({ trim }: Learned, of: number, chance: number): number {
  const at = of * TRIM_WIDTH;
  const x = probit(chance);
  return phi(trim[at]! + trim[at + 1]! * x + trim[at + 2]! * Math.max(0, x));
}

/** Learn the correction from one try; `chance` as it was before correction. Assumed-density filtering of a probit. */
export function learnTrim({ trim }: Learned, of: number, chance: number, approved: boolean) {
  const at = of * TRIM_WIDTH;
  const x = Math.max(-2.5, Math.min(2.5, probit(chance)));
  const inputs = [1, x, Math.max(0, x)];
  let score = 0;
  let spread = 1;
  inputs.forEach((input, n) => {
    score += trim[at + n]! * input;
    spread += input * input * trim[at + inputs.length + n]!;
  });
  const scale = 1 / Math.sqrt(spread);
  const sign = approved ? 1 : -1;
  const z = sign * score * scale;
  const v = density(z) / Math.max(phi(z), 1e-5);
  const h = v * (v + z) * scale * scale;
  inputs.forEach((input, n) => {
    const variance = trim[at + inputs.length + n]!;
    trim[at + n]! += sign * input * variance * v * scale;
    const kept = 1 - Math.min(0.9, input * input * variance * h);
    trim[at + inputs.length + n] = Math.max(VARIANCE_MIN, variance * kept);
  });
}
