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
  [...createIssuers(2, createRandomStream()).values()].flatMap((of) =>
    of.filter(([{ isStrict }]) => isStrict).map(([{ name }]) => name),
  ),
);
const runLawAware = (customers: number) =>
  runTrial(consumers(), createLawAwarePolicy(2, customers, 300, 100), 2, customers);

test("the law-aware policy predicts calibrated probabilities and breaks no rule", () => {
  const trial = runLawAware(60);
  const said = trial.tries.reduce((sum, { choice }) => sum + choice.chance!, 0) / trial.tries.length;
  const came = trial.tries.filter(({ charge }) => charge.approved).length / trial.tries.length;
  // Attempts of one customer are correlated, so the error for 60 customers can reach 0.15.
  assert.ok(Math.abs(said - came) < 0.1, `${said} said, ${came} came, of ${trial.tries.length}`);
  assert.equal(computeFigures(trial).brokenRules, 0);
  for (const { open, charge } of trial.tries) {
    const before = open.charges[open.charges.indexOf(charge) - 1]!;
    if (!STRICT_ISSUERS.has(charge.cardIssuer) || !isTemporaryDecline(before.networkDeclineCode!)) continue;
    assert.ok(charge.at.getTime() - before.at.getTime() >= DAY_MS, "a strict bank would block the card");
  }
});

test("the same seed gives the same retries", () => {
  const times = () => runLawAware(8).tries.map(({ choice }) => choice);
  assert.ok(times().length > 0);
  assert.deepEqual(times(), times());
});
