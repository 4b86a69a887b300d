import assert from "node:assert/strict";
import { test } from "node:test";
import { randomFrom } from "../../simulator/experiments/random.ts";
import { type Belief, explainTry, newBelief, newPerson } from "./belief.ts";
import { AT_ONCE } from "./booking.ts";
import { noteDeclined } from "./declined.ts";
import { EXPLANATIONS, NEVER } from "./explanations.ts";
import { forecastOf } from "./forecast.ts";
import { AT, nameWeight, REASONS, rowStart, STANDINGS } from "./layout.ts";
import { newLearned } from "./learned.ts";
import { phi } from "./normal.ts";
import { chancesOf, observeTry } from "./observe.ts";
import { tryWeights } from "./weights-of.ts";

const HOUR = 3_600_000;
const random = randomFrom(5);
const anyOf = <Item>(items: readonly Item[]) => items[Math.floor(random() * items.length)]!;

/** A model in which no two weights are alike. */
const learned = newLearned();
learned.mean.forEach((mean, n) => {
  learned.mean[n] = mean + 0.2 * (random() - 0.5);
});

/** Cases of all reasons, anywhere, some of them tried again. */
function someBelief(): Belief {
  const person = newPerson(learned, anyOf(["SE", "US", "BR"]));
  const failedAt = Date.UTC(2026, Math.floor(random() * 24), 1, Math.floor(random() * 800));
  const reason = anyOf(REASONS.slice(1));
  const belief = newBelief(learned, person, {
    reason,
    code: "51",
    standing: anyOf(Object.values(STANDINGS)),
    names: Int32Array.of(nameWeight("rcountry:SE"), nameWeight("rcode:51:?")),
    codeName: AT.name,
    rows: Int32Array.of(rowStart("country", "SE"), rowStart("amount", 4)),
    clock: { offsetMs: anyOf([0, 2 * HOUR, -5 * HOUR]), booking: anyOf([AT_ONCE, 2, 8, 15]) },
    failedAt,
    recent: [failedAt],
  });
  for (let tries = anyOf([0, 1, 3]), at = failedAt; tries > 0; tries--) {
    at += Math.ceil(random() * 200) * HOUR;
    observeTry(learned, person, belief, at, reason);
    noteDeclined(belief, {
      name: anyOf([null, nameWeight(`rthen:51:${tries}`)]),
      row: anyOf([null, rowStart("code", "61")]),
    });
  }
  return belief;
}

const cells = new Int32Array(EXPLANATIONS);
const indices = new Int32Array(96);

test("a chance is the sum over all explanations, each with the weight that it adds, to the last bit", () => {
  for (let n = 0; n < 200; n++) {
    const belief = someBelief();
    const chanceAt = chancesOf(learned, belief);
    for (const hours of [1, 5, 30, 100, 500]) {
      const at = belief.lastTriedAt + hours * HOUR;
      const count = tryWeights(belief, at, indices);
      let score = 0;
      let spread = 0.02;
      for (const index of indices.subarray(0, count)) {
        score += learned.mean[index]!;
        spread += learned.variance[index]!;
      }
      explainTry(belief, at, cells);
      let chance = 0;
      let sum = 0;
      for (let e = 0; e < EXPLANATIONS; e++) {
        chance += belief.shares[e]! * phi((score + learned.mean[cells[e]!]!) * (1 / Math.sqrt(1 + spread)));
        sum += belief.shares[e]!;
      }
      assert.equal(chanceAt(at), chance / sum);
    }
  }
});

test("a forecast gives moments the chances that are said of them, by and large, also where little is hoped for", () => {
  let most = 0;
  for (let n = 0; n < 200; n++) {
    const belief = someBelief();
    if (n % 2 === 1) {
      for (let e = 0; e < EXPLANATIONS; e++) belief.shares[e]! *= 0.02;
      belief.shares[NEVER]! += 0.98;
    }
    const slots = Array.from({ length: 54 }, (_, slot) => belief.lastTriedAt + (2 + 12 * slot) * HOUR);
    const { chances, shares } = forecastOf(learned, belief, slots);
    const chanceAt = chancesOf(learned, belief);
    const sum = (numbers: Iterable<number>) => Iterator.from(numbers).reduce((total, each) => total + each, 0);
    assert.ok(Math.abs(sum(shares) - 1) < 1e-9, "no explanation's chance is lost");
    most = Math.max(most, Math.abs(sum(chances) / sum(slots.map(chanceAt)) - 1));
  }
  assert.ok(most < 0.05, `${most}`);
});
