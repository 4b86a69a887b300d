import assert from "node:assert/strict";
import { test } from "node:test";
import { newLearnedModel } from "../../src/engine/learned/learned-model.ts";
import { likeliestSettlement, SETTLEMENT_PATTERNS } from "../../src/engine/learned/settlement.ts";
import { world as debits } from "../worlds/debit-world.ts";
import { measurePredictionLoss } from "./prediction-loss.ts";

test("the engine finds the settlement pattern of debits within about two thousand attempts, whatever the scheme's usual one", () => {
  for (const [cutoff, businessDays] of [
    [21, 2],
    [17, 1],
  ] as const) {
    const model = newLearnedModel();
    const { tries } = measurePredictionLoss(debits({ cutoff, businessDays }), model, 71, 800);
    const found = ["sepa_debit", "ach_debit", "bacs_debit"].map(
      (scheme) => SETTLEMENT_PATTERNS[likeliestSettlement(model, scheme)]?.businessDays,
    );
    const right = found.filter((days) => days === businessDays).length;
    assert.ok(right >= 2, `${found.join(", ")} after ${tries} tries, and it is ${businessDays}`);
  }
});
