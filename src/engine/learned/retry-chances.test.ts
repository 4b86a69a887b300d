import assert from "node:assert/strict";
import { test } from "node:test";
import { createRandom } from "../../../lab/experiments/random-numbers.ts";
import { applyDecline } from "../case-features.ts";
import { type CasePosterior, newCasePosterior, newCustomerPosterior } from "./case-posterior.ts";
import { buildForecast } from "./forecast.ts";
import { HYPOTHESIS_COUNT, NEVER_HYPOTHESIS } from "./hypotheses.ts";
import { newLearnedModel } from "./learned-model.ts";
import { featureIndex, REASONS, rowStart, STANDINGS, WEIGHT_STARTS } from "./model-layout.ts";
import { chanceOf, observeRetry } from "./observe.ts";
import { IMMEDIATE } from "./settlement.ts";

const HOUR = 3_600_000;
const random = createRandom(5);
const pickAny = <Item>(items: readonly Item[]) => items[Math.floor(random() * items.length)]!;

/** All weights differ. */
const model = newLearnedModel();
model.mean.forEach((mean, n) => {
  model.mean[n] = mean + 0.2 * (random() - 0.5);
});

/** Returns a case with any reason and country, possibly retried before. */
function buildRandomPosterior(): CasePosterior {
  const customer = newCustomerPosterior(model, pickAny(["SE", "US", "BR"]));
  const failedAt = Date.UTC(2026, Math.floor(random() * 24), 1, Math.floor(random() * 800));
  const reason = pickAny(REASONS.slice(1));
  const posterior = newCasePosterior(model, customer, {
    reason,
    code: "51",
    standing: pickAny(Object.values(STANDINGS)),
    features: Int32Array.of(featureIndex("rcountry:SE"), featureIndex("rcode:51:?")),
    codeFeature: WEIGHT_STARTS.name,
    rows: Int32Array.of(rowStart("country", "SE"), rowStart("amount", 4)),
    clock: { offsetMs: pickAny([0, 2 * HOUR, -5 * HOUR]), booking: pickAny([IMMEDIATE, 2, 8, 15]) },
    failedAt,
    recent: [failedAt],
  });
  for (let retries = pickAny([0, 1, 3]), at = failedAt; retries > 0; retries--) {
    at += Math.ceil(random() * 200) * HOUR;
    observeRetry(model, customer, posterior, at, reason);
    applyDecline(posterior, "51", pickAny([null, "51", "61"]));
  }
  return posterior;
}

test("a forecast's probabilities are close to the predicted ones, also when success is unlikely", () => {
  let most = 0;
  for (let n = 0; n < 200; n++) {
    const posterior = buildRandomPosterior();
    if (n % 2 === 1) {
      for (let e = 0; e < HYPOTHESIS_COUNT; e++) posterior.shares[e]! *= 0.02;
      posterior.shares[NEVER_HYPOTHESIS]! += 0.98;
    }
    const slots = Array.from({ length: 54 }, (_, slot) => posterior.lastTriedAt + (2 + 12 * slot) * HOUR);
    const { chances, shares } = buildForecast(model, posterior, slots);
    const chanceAt = (at: number) => chanceOf(model, posterior, at);
    const sum = (numbers: Iterable<number>) => Iterator.from(numbers).reduce((total, each) => total + each, 0);
    assert.ok(Math.abs(sum(shares) - 1) < 1e-9, "no explanation's chance is lost");
    most = Math.max(most, Math.abs(sum(chances) / sum(slots.map(chanceAt)) - 1));
  }
  assert.ok(most < 0.05, `${most}`);
});
