import assert from "node:assert/strict";
import { after, test } from "node:test";
import { buildExplanation } from "../explain/answers.ts";
import { loadExplainedCase } from "../explain/load-explained-case.ts";
import { DAY, openStage } from "./stage.fixture.ts";

const stage = await openStage();
after(() => stage.drop());

test("explain calls a time as good as the chosen one when their values round to the same percentage, and treats hours alike", async () => {
  const { id: merchantId } = await stage.enter();
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  const explained = (await loadExplainedCase(stage.db, merchantId, "inv_1", stage.now()))!;
  const [decision] = explained.decisions as [(typeof explained.decisions)[0]];
  const { account } = decision;
  const planWorth = 0.96;
  const findAnswers = (values: readonly number[], chance: number) => {
    const days = account.days.map((day, n) => ({ ...day, worth: values[n] ?? 0.5 }));
    const hours = account.hours.map((hour, n) => ({ ...hour, chance: chance + n / 1e4 }));
    const plain = { drawn: false, hourDrawn: false, spread: false, even: { ...account.even!, planWorth } };
    const decisions = [{ ...decision, chance, account: { ...account, ...plain, days, hours } }];
    const answers = buildExplanation({ ...explained, decisions });
    return ["Why not today?", "Why this hour?"].map((question) =>
      answers.find((each) => each.question === question)!.answer.join("\n"),
    );
  };
  const farIndex = account.days.findIndex(({ at }) => +at - +decision.idealTime! > DAY);
  const valuesWith = (worth: number) => account.days.map((_, n) => (n === farIndex ? worth : 0.5));
  const [tiedAnswer, hour] = findAnswers(valuesWith(0.9577), 0.6);
  assert.match(tiedAnswer!, /^As good, .*, expected value 96%\.$/m);
  assert.match(tiedAnswer!, /^Times are equally good if their expected values are the same/m);
  assert.match(hour!, /\nRounded to whole percent, these hours have the same chance\.$/);
  const [betterAnswer] = findAnswers(valuesWith(0.9677), 0.6);
  assert.match(betterAnswer!, /^Better, .*, expected value 97%\.$/m);
  assert.doesNotMatch(betterAnswer!, /As good|as good/);
});
