import assert from "node:assert/strict";
import { test } from "node:test";
import { runTrial } from "../trial/run-trial.ts";
import { computeFigures } from "../trial/trial-figures.ts";
import { createIssuers } from "../worlds/consumers/issuers.ts";
import { world as consumers } from "../worlds/consumers/world.ts";
import { isTemporaryDecline } from "../worlds/decline-code-kinds.ts";
import { DAY_MS } from "../worlds/keyed-uniform.ts";
import { createRandomStream } from "../worlds/random-stream.ts";
import { createLawAwarePolicy } from "./law-aware-policy.ts";

const STRICT_ISSUERS = new Set<string | undefined>(
  [...createIssuers(2, createRandomStream()).values()].flatMap((issuer) =>
    issuer.filter(([{ isStrict }]) => isStrict).map(([{ name }]) => name),
  ),
);
const runLawAware = (customers: number) =>
  runTrial(consumers(), createLawAwarePolicy(2, customers, 300, 100), 2, customers);

test("the law-aware policy predicts calibrated probabilities and breaks no rule", () => {
  const trial = runLawAware(60);
  const predicted = trial.retries.reduce((sum, { choice }) => sum + choice.chance!, 0) / trial.retries.length;
  const came = trial.retries.filter(({ charge }) => charge.approved).length / trial.retries.length;
  // Attempts of one customer are correlated, so the error for 60 customers can reach 0.15.
  assert.ok(Math.abs(predicted - came) < 0.1, `${predicted} said, ${came} came, of ${trial.retries.length}`);
  assert.equal(computeFigures(trial).brokenRules, 0);
  for (const { open, charge } of trial.retries) {
    const before = open.charges[open.charges.indexOf(charge) - 1]!;
    if (!STRICT_ISSUERS.has(charge.cardIssuer) || !isTemporaryDecline(before.networkDeclineCode!)) continue;
    assert.ok(charge.at.getTime() - before.at.getTime() >= DAY_MS, "a strict bank would block the card");
  }
});

test("the same seed gives the same retries", () => {
  const times = () => runLawAware(8).retries.map(({ choice }) => choice);
  assert.ok(times().length > 0);
  assert.deepEqual(times(), times());
});
