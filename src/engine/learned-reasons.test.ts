import assert from "node:assert/strict";
import { test } from "node:test";
import pino from "pino";
import { readPretrainedModel } from "../process/pretrained-model-file.ts";
import { buildPosterior, buildRetryContext, START } from "./choose-retry.fixture.ts";
import { chooseRetry } from "./choose-retry.ts";
import { buildCase, buildInvoice, PAID_ON_THE_25TH, soonAfterFailure } from "./decide-learned.fixture.ts";
import { decideLearned } from "./decide-learned.ts";
import { buildDecisionContext } from "./decision-context.ts";
import { DATE_CELL_COUNT } from "./learned/date-outcomes.ts";
import { newLearnedModel } from "./learned/learned-model.ts";
import { classOf, dateCellWeight } from "./learned/model-layout.ts";
import { fromPretrained } from "./learned/pretrained-model.ts";
import { recordPrediction } from "./learned/shortfall.ts";
import { explainRetry, isOutageReason } from "./learned-reasons.ts";

const pretrainedModel = fromPretrained(readPretrainedModel(pino({ level: "silent" }))!);

test("the reasons for an evenly spaced retry name neither its date nor a next retry, since neither mattered", () => {
  const model = newLearnedModel();
  for (let cell = 15; cell < DATE_CELL_COUNT; cell++) model.mean[dateCellWeight(classOf("LIMIT"), cell)] = 0.3;
  const days = Array.from({ length: 28 }, (_, n) => String(n + 1).padStart(2, "0"));
  const paid = ["01", "02", "03", "04"].flatMap((month) =>
    days.map((day) => buildInvoice(`2026-${month}-${day}`, [], null)),
  );
  const [facts, history] = buildCase([...paid, buildInvoice("2026-05-11", [], "61")]);
  for (let n = 80; n > 0; n--)
    recordPrediction(model, { firstReason: "LIMIT" }, 0.5, +soonAfterFailure(facts, -n), "LIMIT");
  const counts = { true: 0, false: 0 };
  let dated = 0;
  for (let n = 0; n < 30; n++) {
    const { decision, chosen } = decideLearned(
      buildDecisionContext({ ...facts, caseId: `case ${n}` }, soonAfterFailure(facts, 100), history),
      history,
      model,
    );
    const { isEvenlySpaced, isSampled } = chosen!;
    if (isSampled) continue;
    counts[`${isEvenlySpaced}`]++;
    const words = decision.reasons.join(" ");
    assert.equal(/some retries are evenly spaced\. This one is /.test(words), isEvenlySpaced);
    assert.equal(/If it fails, .* would be next\./.test(words), !isEvenlySpaced);
    const isDated = /around this day of the month/.test(words);
    assert.ok(!(isEvenlySpaced && isDated), words);
    dated += Number(isDated);
  }
  assert.ok(counts.true > 3 && counts.false > 3 && dated > 0, JSON.stringify([counts, dated]));
});

test("a passing cause is named when the decline identifies it", () => {
  for (const [code, model, words] of [
    ["54", pretrainedModel, "the card's renewal takes effect by itself"],
    ["91", pretrainedModel, "the fault at the bank passes by itself"],
    ["65", pretrainedModel, "the limit is restored by itself"],
    ["05", newLearnedModel(), "a temporary block at the bank ends by itself"],
  ] as const) {
    const [facts, history] = buildCase([buildInvoice("2026-05-11", [], code)], { cardChange: "unasked" });
    const decision = decideLearned(
      buildDecisionContext(facts, soonAfterFailure(facts, 30), history),
      history,
      model,
    ).decision.reasons.join(" ");
    assert.match(decision, new RegExp(`Most likely ${words} \\(`));
  }
});

test("the likeliest cause is named with its probability, in words that do not contradict the decline", () => {
  for (const [code, fits] of [
    ["61", /there is enough money or limit again with the next payday|the limit is restored by itself/],
    ["65", /there is enough money or limit again with the next payday|the limit is restored by itself/],
    ["91", /the bank answers again, and the money arrives with the next payday|the fault at the bank passes by itself/],
    ["51", /the money arrives with the next payday|a hold on the money ends by itself/],
  ] as const)
    for (const model of [pretrainedModel, newLearnedModel()])
      for (const before of [[], PAID_ON_THE_25TH]) {
        const [facts, history] = buildCase([...before, buildInvoice("2026-05-11", [], code)]);
        const decision = decideLearned(
          buildDecisionContext(facts, soonAfterFailure(facts), history),
          history,
          model,
        ).decision.reasons.join(" ");
        const [, words] = /Most likely (.*?) \(\d+%\)/.exec(decision)!;
        assert.match(words!, fits, code);
      }
});

test("the pay cycle is named when one is likely enough", () => {
  const decision = (invoices: Parameters<typeof buildCase>[0]) => {
    const [facts, history] = buildCase(invoices);
    return decideLearned(
      buildDecisionContext(facts, soonAfterFailure(facts), history),
      history,
      newLearnedModel(),
    ).decision.reasons.join(" ");
  };
  assert.match(
    decision([...PAID_ON_THE_25TH, buildInvoice("2026-05-11", [])]),
    /next payday \(\d+%\), probably .* \(\d+%\)\./,
  );
  assert.match(decision([buildInvoice("2026-05-11", [])]), /with the next payday \(\d+%\)\. /);
});

test("the reason names how a time was chosen: evenly, despite poor odds, by sampling, by the hour, or by its value", () => {
  const [facts] = buildCase([buildInvoice("2026-05-11", [])]);
  const posterior = buildPosterior("FUNDS");
  const model = newLearnedModel();
  const chosen = {
    ...chooseRetry(model, posterior, buildRetryContext())!,
    isEvenlySpaced: false,
    isNotWorthRetrying: false,
    isSampled: false,
    isHourSampled: false,
  };
  const words = (overrides: Partial<typeof chosen>) =>
    explainRetry(
      buildDecisionContext(facts, soonAfterFailure(facts)),
      model,
      posterior,
      { ...chosen, ...overrides },
      START + 86_400_000,
    ).join(" ");
  const wordings: [Partial<typeof chosen>, RegExp][] = [
    [{}, /\nThe best next time is Tue 7 April|^(?!.*No retry is expected).*The best next time is Tue 7 April/],
    [{ isEvenlySpaced: true }, /some retries are evenly spaced\. This one is Tue 7 April/],
    [{ isNotWorthRetrying: true }, /No retry is expected to be worth its cost.* The best next time is Tue 7 April/],
    [{ isSampled: true }, /Dunlin chose this time at random.* It is Tue 7 April/],
    [{ isHourSampled: true }, /Dunlin chose the hour at random.* is Tue 7 April/],
  ];
  for (const [overrides] of wordings) {
    const matching = wordings.filter(([, pattern]) => pattern.test(words(overrides))).map(([each]) => each);
    assert.deepEqual(matching, [overrides], words(overrides));
  }
});

test("payments around a date are mentioned only when three succeeded, none failed, and they favor the time", () => {
  const cellOf = (approved: number, failed: number) => 5 * approved + failed;
  const [facts] = buildCase([buildInvoice("2026-05-11", [])]);
  const isTold = (cell: number, here: number, without: number) => {
    const model = newLearnedModel();
    model.mean[dateCellWeight(classOf("FUNDS"), cell)] = here;
    model.mean[dateCellWeight(classOf("FUNDS"), 0)] = without;
    const posterior = { ...buildPosterior("FUNDS"), dateCells: new Uint8Array(31).fill(cell) } as ReturnType<
      typeof buildPosterior
    >;
    const chosen = { ...chooseRetry(model, posterior, buildRetryContext())!, isEvenlySpaced: false, isSampled: false };
    const reasons = explainRetry(
      buildDecisionContext(facts, soonAfterFailure(facts)),
      model,
      posterior,
      chosen,
      START + 86_400_000,
    ).join(" ");
    return /Earlier payments of this customer succeeded around this day of the month/.test(reasons);
  };
  assert.ok(isTold(cellOf(3, 0), 0.3, 0));
  assert.ok(isTold(cellOf(3, 0), 0.05, 0));
  assert.ok(!isTold(cellOf(3, 0), 0.049, 0));
  assert.ok(!isTold(cellOf(3, 0), 0.1, 0.08));
  assert.ok(isTold(cellOf(3, 0), -0.1, -0.2));
  assert.ok(!isTold(cellOf(2, 0), 0.3, 0));
  assert.ok(!isTold(cellOf(3, 1), 0.3, 0));
});

test("a wait for the end of an outage is recognized in the reasons of this build and of earlier ones", () => {
  const down = "The bank appears to be down";
  assert.ok(isOutageReason(`${down}. … Dunlin retries there after Thu 14 May, 12:05 (UTC).`));
  assert.ok(isOutageReason(`${down}: …, so the next retry there comes after Thu 14 May, 12:05 (UTC).`));
  assert.ok(!isOutageReason(`${down}.`));
});
