import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { buildExplanation } from "../../explain/answers.ts";
import { loadExplainedCase } from "../../explain/load-explained-case.ts";
import { HOUR, openStage } from "../../recovery/stage.fixture.ts";
import { explanatoryDecisions } from "../../tables/decisions.ts";
import { html, htmlText } from "../html.ts";
import { answerList } from "./explanation-answers.ts";

const stage = await openStage();
after(() => stage.drop());
let merchantId: string;
beforeEach(async () => {
  merchantId = (await stage.enter()).id;
});

const explained = async () =>
  (await loadExplainedCase(stage.db, merchantId, "inv_1", stage.now(), explanatoryDecisions))!;
async function failing(over: Parameters<typeof stage.transaction>[0] = {}) {
  await stage.invoice();
  await stage.transaction(over);
  await stage.decide();
}

/** Returns the number of questions on the page, and the open ones. Asserts that each answer equals the command's. */
async function readQuestions() {
  const all = await explained();
  const page = htmlText(answerList(all));
  const questions = [...page.matchAll(/<details( open)?><summary>(.+?)<\/summary>(.*?)<\/details>/g)];
  const [happened, ...printed] = buildExplanation(
    (await loadExplainedCase(stage.db, merchantId, "inv_1", stage.now()))!,
  );
  assert.deepEqual(
    questions.map(([, , question, answer]) => [question, answer]),
    printed
      .filter(({ applies }) => applies)
      .map(({ question, answer }) => [question, answer.map((line) => htmlText(html`<p>${line}</p>`)).join("")]),
  );
  const [clocks] = /Times are those of [^.]+\./.exec(page)!;
  assert.ok(happened!.answer.includes(clocks), clocks);
  return { questions: questions.length, open: questions.filter(([, open]) => open).map(([, , question]) => question) };
}

test("the page of an open case opens the plan and answers the same questions as the command", async () => {
  await failing();
  assert.deepEqual(await readQuestions(), { questions: 7, open: ["Next step"] });
});

test("the page of a case that waits for another card opens the plan", async () => {
  await failing({ networkDeclineCode: "41" });
  await stage.untilSent();
  assert.deepEqual(await readQuestions(), { questions: 7, open: ["Next step"] });
});

test("the page of an ended case opens the reason for its end", async () => {
  await failing({ networkDeclineCode: "R0" });
  assert.deepEqual(await readQuestions(), { questions: 4, open: ["Why did it stop?"] });
  merchantId = (await stage.enter()).id;
  await failing();
  stage.wait(HOUR);
  await stage.transaction({ state: "PAID" });
  await stage.invoice({ state: "PAID" });
  await stage.decide();
  assert.deepEqual(await readQuestions(), { questions: 5, open: ["Why did it stop?"] });
});

test("the page shows only applicable questions in shadow mode and under the static policy", async () => {
  for (const [settings, questions] of [
    [{ shadow: true }, 8],
    [{ engine: "static" }, 6],
  ] as const) {
    merchantId = (await stage.enter(true, settings)).id;
    await failing();
    assert.deepEqual(await readQuestions(), { questions, open: ["Next step"] });
  }
});

test("the page of an invoice without a decision opens the reason", async () => {
  await stage.invoice({ state: "PAID" });
  await stage.transaction({ state: "PAID" });
  assert.deepEqual(await readQuestions(), { questions: 1, open: ["Why Dunlin did nothing"] });
  merchantId = (await stage.enter()).id;
  await stage.start({ share: 0.01 });
  await failing();
  assert.deepEqual(await readQuestions(), { questions: 2, open: ["Why Dunlin did nothing", "Why did it stop?"] });
});

test("a decision stored by another version leaves the rest of the page unchanged", async () => {
  await failing();
  const all = await explained();
  const [first] = all.decisions;
  const days = [{ at: new Date(Number.NaN), chance: 0, worth: 0 }];
  const decisions = [{ ...first!, account: { ...first!.account, days } }];
  assert.match(
    htmlText(answerList({ ...all, decisions })),
    /^<p class="text soft">These decisions were stored by another version/,
  );
});
