import type { LearnedModel } from "../../src/engine/learned/learned-model.ts";
import { createDunlinPolicy, type DunlinOptions } from "./dunlin-policy.ts";
import type { Policy } from "./policy.ts";

/** A policy for two models that both learn from every retry. The one that predicted the merchant's retries better decides. */
export function createPairedPolicy(models: readonly [LearnedModel, LearnedModel], options: DunlinOptions = {}): Policy {
  let lead = 0;
  const chances = [0, 0];
  const [first, second] = models.map((model, n) =>
    createDunlinPolicy(model, {
      ...options,
      foresaw(chance, approved) {
        chances[n] = chance;
        options.foresaw?.(chance, approved);
      },
    }),
  ) as [Policy, Policy];
  const deciding = () => (lead >= 0 ? first : second);
  return {
    billed(bill) {
      first.billed?.(bill);
      second.billed?.(bill);
    },
    next(open, now) {
      const choices = [first.next(open, now), second.next(open, now)];
      return choices[lead >= 0 ? 0 : 1]!;
    },
    waits: (open, now) => deciding().waits!(open, now),
    reconsidered: (open, choice) => deciding().reconsidered!(open, choice),
    answered(open, choice, charge) {
      first.answered!(open, choice, charge);
      second.answered!(open, choice, charge);
      const [a, b] = chances.map((chance) => Math.log(Math.max(1e-6, charge.approved ? chance : 1 - chance)));
      lead += a! - b!;
    },
  };
}
