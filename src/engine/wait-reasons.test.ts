import assert from "node:assert/strict";
import { test } from "node:test";
import pino from "pino";
import { readPretrainedModel } from "../process/pretrained-model-file.ts";
import {
  buildCase,
  buildCodes,
  buildInvoice,
  DAY,
  PAID_ON_THE_25TH,
  soonAfterFailure,
} from "./decide-learned.fixture.ts";
import { decideLearned } from "./decide-learned.ts";
import { buildDecisionContext } from "./decision-context.ts";
import { fromPretrained } from "./learned/pretrained-model.ts";

// Tests which waits are reasons for the retry that follows.

const pretrainedModel = fromPretrained(readPretrainedModel(pino({ level: "silent" }))!);

test("an advised wait is named only when the retry follows soon after it and the wait was not over by then", () => {
  const decided = (on: string, advice: string, hours = 0.1) => {
    const invoices = [...PAID_ON_THE_25TH, buildInvoice(on, [])];
    const [facts, history] = buildCase(invoices, { network: "mastercard" });
    const advised = buildCodes("51", advice);
    const ledger = facts.ledger.map((entry) => ({ ...entry, codes: advised }));
    const advisedFacts = { ...facts, ledger, lastDecline: { at: facts.unpaidAt, ...advised } };
    const { decision } = decideLearned(
      buildDecisionContext(advisedFacts, soonAfterFailure(advisedFacts, hours), history),
      history,
      pretrainedModel,
    );
    assert.equal(decision.kind, "retry");
    const days = (+(decision as { at: Date }).at - +facts.unpaidAt) / DAY;
    return { days, isNamed: /Dunlin does not retry sooner/.test(decision.reasons.join(" ")) };
  };
  for (const [on, advice, hours] of [
    ["2026-05-11", "25", 0.1],
    ["2026-05-20", "28", 0.1],
    ["2026-05-24", "28", 0.1],
    ["2026-05-25", "25", 32],
    ["2026-05-24", "25", 100],
  ] as const) {
    const { days, isNamed } = decided(on, advice, hours);
    const wait = advice === "25" ? 1 : 6;
    assert.equal(isNamed, hours / 24 < wait && days < wait + 1.1, `${on} ${advice} ${hours}: ${days}`);
  }
});

test("an outage is named only when the retry follows soon after it and would have come earlier otherwise", () => {
  const [facts, history] = buildCase([...PAID_ON_THE_25TH, buildInvoice("2026-05-11", [])]);
  const issuerDownAt = soonAfterFailure(facts);
  const { decision } = decideLearned(
    buildDecisionContext({ ...facts, issuerDownAt }, soonAfterFailure(facts), history),
    history,
    pretrainedModel,
  );
  assert.equal(decision.kind, "retry");
  assert.ok(+(decision as { at: Date }).at > +issuerDownAt + 2 * DAY);
  assert.doesNotMatch(decision.reasons.join(" "), /bank appears to be down/);
});

test("an outage that ended before a named wait is not named", () => {
  const [facts, history] = buildCase([...PAID_ON_THE_25TH, buildInvoice("2026-05-24", [])], { network: "mastercard" });
  const advised = buildCodes("51", "25");
  const ledger = facts.ledger.map((entry) => ({ ...entry, codes: advised }));
  const advisedFacts = { ...facts, ledger, lastDecline: { at: facts.unpaidAt, ...advised } };
  const issuerDownAt = soonAfterFailure(facts, 12);
  const { decision } = decideLearned(
    buildDecisionContext({ ...advisedFacts, issuerDownAt }, soonAfterFailure(facts, 12.1), history),
    history,
    pretrainedModel,
  );
  assert.match(decision.reasons.join(" "), /Dunlin does not retry sooner/);
  assert.doesNotMatch(decision.reasons.join(" "), /bank appears to be down/);
});
