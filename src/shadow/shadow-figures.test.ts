import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import type { DecisionRecord } from "../domain/decision.ts";
import { findAnswer } from "../explain/answers.fixture.ts";
import { buildExplanation } from "../explain/answers.ts";
import { loadExplainedCase } from "../explain/load-explained-case.ts";
import { DAY, HOUR, MINUTE, openStage, START } from "../recovery/stage.fixture.ts";
import type { ShadowCase } from "../tables/cases.ts";
import { decisionsOfCase } from "../tables/decisions.ts";
import type { TransactionFacts } from "../tables/transactions.ts";
import { addCase, computeShadowFigures, newShadowFigures, STANCES } from "./shadow-figures.ts";

let stage: Awaited<ReturnType<typeof openStage>>;
let merchantId: string;
before(async () => {
  stage = await openStage();
});
after(() => stage.drop());
beforeEach(async () => {
  merchantId = (await stage.enter(true, { shadow: true })).id;
});

const decisions = async () => decisionsOfCase(stage.db, merchantId, (await stage.caseIds())[0]!);

test("in shadow mode decisions are logged, and nothing is requested or sent", async () => {
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  assert.deepEqual(await stage.arms(), ["shadow"]);
  const [first] = await decisions();
  assert.equal(first!.kind, "retry");
  assert.ok(first!.chance! > 0 && first!.idealTime! > START && first!.actionId === null);
  // Its moment passes, and the subscription ends: still nobody hears of it.
  stage.at(first!.idealTime!.getTime() + DAY);
  await stage.invoice({ subscriptionId: "sub_1" });
  await stage.subscription("CANCELED");
  await stage.decide();
  assert.equal((await stage.cases())[0]!.end, "subscription_canceled");
  assert.equal((await stage.outcomes())[0]!.outcome, "watched");
  assert.deepEqual(await stage.events(), []);
  assert.deepEqual(await stage.actions(), []);
});

test("a decision stands until a fact changes, and each attempt of the merchant leads to a new one", async () => {
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  const [first] = await decisions();
  stage.at(first!.idealTime!.getTime() + 2 * DAY);
  await stage.invoice({ updatedAt: stage.now() });
  await stage.decide();
  assert.equal((await decisions()).length, 1);
  await stage.transaction();
  await stage.decide();
  const [, second] = await decisions();
  assert.ok(second!.idealTime! > stage.now());
  assert.match(second!.account.known.join(" "), /7 retries of the budget are left/);
});

test("a case keeps its mode when shadow mode is switched on or off", async () => {
  await stage.invoice();
  await stage.set({ shadow: false });
  await stage.invoice({ id: "inv_2", customerId: "cus_2" });
  await stage.decide();
  await stage.set({ shadow: true });
  await stage.decide();
  assert.deepEqual(await stage.arms(), ["shadow", "dunlin"]);
  assert.deepEqual(
    (await stage.events()).map(({ type }) => type),
    ["pause_collection"],
  );
});

test("explain says what Dunlin would request, and that it does not", async () => {
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  const explained = (await loadExplainedCase(stage.db, merchantId, "inv_1", stage.now()))!;
  const answer = (question: string) =>
    buildExplanation(explained)
      .find((each) => each.question === question)!
      .answer.join("\n");
  assert.match(answer("Next step"), /shadow mode.*\nIt would request a retry on .*, with a chance of \d+%/);
  assert.match(answer("History"), /Shadow mode: Dunlin would request a retry on/);
  assert.match(answer("Why this hour?"), /^The retry would be for /);
});

test("a retry whose time has passed is not announced as to come", async () => {
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  const findText = (question: string) => findAnswer(stage, merchantId, question);
  const [{ idealTime }] = (await decisions()) as unknown as [DecisionRecord];
  stage.at(+idealTime! + MINUTE);
  await stage.decide();
  assert.match(
    await findText("Next step"),
    /\nIt would have requested a retry on .*, with a chance of \d+%\. The next decision follows .*\nReasons given on Mon 2 March, .*:\n/,
  );
  assert.match(
    await findText("Why not today?"),
    /^A retry would have been requested for .*\. The next decision follows/,
  );
  assert.match(await findText("Why this hour?"), /^The retry would have been for /);
});

test("the history shows an unchanged decision once", async () => {
  await stage.invoice();
  await stage.transaction({ networkDeclineCode: "14" });
  await stage.decide();
  await stage.transaction({ networkDeclineCode: "14" });
  await stage.decide();
  assert.deepEqual(
    (await decisions()).map(({ kind }) => kind),
    ["card_change", "card_change"],
  );
  const history = await findAnswer(stage, merchantId, "History");
  assert.equal(history.match(/Shadow mode: Dunlin would ask for another card/g)!.length, 1);
});

test("the comparison sets each attempt beside the decision before it, and amounts by currency", async () => {
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  const [first] = await decisions();
  stage.at(first!.idealTime!.getTime() + HOUR);
  await stage.transaction({ state: "PAID" });
  await stage.invoice({ state: "PAID", updatedAt: stage.now() });
  await stage.decide();
  stage.at(START.getTime() + 35 * DAY);
  const figures = await computeShadowFigures(stage.db, merchantId, new Date(0), stage.now());
  assert.deepEqual([figures.cases, figures.counted, figures.paid], [1, 1, 1]);
  assert.deepEqual([...figures.money], [["EUR", { cases: 1, due: 4900, paid: 4900 }]]);
  assert.deepEqual(figures.stances.same, { tries: 1, approved: 1 });
  assert.deepEqual(figures.foreseen, { tries: 1, approved: 1, expected: first!.chance });
  assert.equal(figures.planned.expected, first!.account.even!.planRecovers);
  assert.deepEqual(figures.planned.paid, 1);
  assert.equal((await computeShadowFigures(stage.db, merchantId, stage.now(), stage.now())).cases, 0);
});

test("the plan of the first decision that knew the failure counts, however soon after it the attempt was pushed", async () => {
  const lostCard = { networkDeclineCode: "41" } as const;
  // The invoice before its attempt, the attempt first, an attempt that was declined for want of money, one that came when the case was over, and none at all.
  for (const n of [1, 3, 4, 5]) {
    await stage.invoice({ id: `inv_${n}`, customerId: `cus_${n}` });
    stage.wait(1);
  }
  await stage.decide();
  await stage.transaction(lostCard);
  await stage.transaction({ invoiceId: "inv_2", customerId: "cus_2", cardFingerprint: "fp_2", ...lostCard });
  await stage.transaction({ invoiceId: "inv_3", customerId: "cus_3", cardFingerprint: "fp_3" });
  await stage.invoice({ id: "inv_2", customerId: "cus_2" });
  await stage.decide();
  await stage.invoice({ id: "inv_4", customerId: "cus_4", state: "PAID", updatedAt: new Date(+START + HOUR) });
  await stage.decide();
  await stage.transaction({ invoiceId: "inv_4", customerId: "cus_4", cardFingerprint: "fp_4" });
  await stage.decide();
  stage.at(START.getTime() + 36 * DAY);
  const { counted, planned } = await computeShadowFigures(stage.db, merchantId, new Date(0), stage.now());
  const evens = async (n: number) =>
    (await decisionsOfCase(stage.db, merchantId, (await stage.caseIds())[n]!)).map(({ account }) => account.even);
  const [guessed, known] = await evens(1);
  const [alone] = await evens(3);
  assert.ok(guessed!.planRecovers !== known!.planRecovers);
  assert.deepEqual([counted, planned.cases, planned.paid], [5, 2, 0]);
  assert.equal(planned.expected, known!.planRecovers + alone!.planRecovers);
});

test("a case that would have been given up counts, but as no plan", async () => {
  await stage.invoice({ amount: 20, currency: "USD" });
  await stage.transaction({ amount: 20, currency: "USD" });
  await stage.decide();
  const [decision] = await decisions();
  assert.deepEqual([decision!.kind, decision!.account.even!.plan], ["stop", []]);
  stage.at(START.getTime() + 36 * DAY);
  const { counted, planned } = await computeShadowFigures(stage.db, merchantId, new Date(0), stage.now());
  assert.deepEqual([counted, planned.cases], [1, 0]);
});

test("an invoice counts seven days after its window, paid or not, so early payments do not count first", async () => {
  await stage.invoice();
  await stage.invoice({ id: "inv_2", customerId: "cus_2" });
  await stage.invoice({ id: "inv_3", customerId: "cus_3" });
  await stage.decide();
  stage.wait(DAY);
  await stage.invoice({ state: "PAID" });
  await stage.invoice({ id: "inv_4", customerId: "cus_4" });
  await stage.decide();
  const figures = async () => {
    const { counted, paid, planned, money, young } = await computeShadowFigures(
      stage.db,
      merchantId,
      new Date(0),
      stage.now(),
    );
    return { counted, paid, planned: [planned.cases, planned.paid], money: [...money], young };
  };
  const counts = (day: number) => new Date(START.getTime() + (28 + 7 + day) * DAY);
  stage.at(counts(0).getTime() - HOUR);
  await stage.decide();
  const earlyFigures = await figures();
  assert.deepEqual(
    [earlyFigures.counted, earlyFigures.paid, earlyFigures.planned, earlyFigures.money],
    [0, 0, [0, 0], []],
  );
  assert.equal(earlyFigures.young.cases, 4);
  assert.deepEqual(earlyFigures.young.firstAt, counts(0));
  // A payment of the window's last days that arrives after it is counted, too.
  await stage.invoice({ id: "inv_2", customerId: "cus_2", state: "PAID" });
  stage.at(counts(0).getTime() + HOUR);
  await stage.decide();
  const [dueAmount, paid] = [3 * 4900, 2 * 4900];
  const figuresThen = await figures();
  assert.deepEqual(
    [figuresThen.counted, figuresThen.paid, figuresThen.planned, figuresThen.money],
    [3, 2, [3, 2], [["EUR", { cases: 3, due: dueAmount, paid }]]],
  );
  assert.equal(figuresThen.young.cases, 1);
  assert.ok(figuresThen.young.firstAt! >= counts(1) && +figuresThen.young.firstAt! === +figuresThen.young.lastAt!);
});

const shadowCase = { unpaidAt: START, windowEndsAt: new Date(+START + 28 * DAY), endedAt: null } as ShadowCase;
const LATER = new Date(+START + 99 * DAY);
const buildDecision = (day: number, kind: DecisionRecord["kind"], idealDay: number | null = null) =>
  ({
    madeAt: new Date(+START + day * DAY),
    kind,
    idealTime: idealDay === null ? null : new Date(+START + idealDay * DAY),
    chance: 0.3,
    account: {
      known: [] as string[],
      reasons: [] as string[],
      ruledOut: [{ from: new Date(+START + 5 * DAY), to: new Date(+START + 6 * DAY) }],
    },
  }) as DecisionRecord;
const buildAttempt = (day: number, over: Partial<TransactionFacts> = {}) =>
  ({ createdAt: new Date(+START + day * DAY), state: "FAILED", amount: 4900, ...over }) as TransactionFacts;

test("an attempt within twelve hours is the same, else earlier, later, or one that Dunlin would not have made", () => {
  const figures = newShadowFigures();
  const decisions = [buildDecision(0.1, "retry", 3), buildDecision(3.5, "card_change", 4), buildDecision(8, "stop")];
  const retries = [
    buildAttempt(0),
    buildAttempt(0.05),
    buildAttempt(1),
    buildAttempt(2.6),
    buildAttempt(3.45),
    buildAttempt(3.55),
    buildAttempt(5.5),
    buildAttempt(9),
  ];
  addCase(figures, shadowCase, decisions, retries, LATER);
  assert.deepEqual(
    STANCES.map((stance) => figures.stances[stance].tries),
    [2, 1, 0, 2, 1, 0, 1],
  );
  assert.equal(figures.forbidden.tries, 1);
  const earlyFigures = newShadowFigures();
  addCase(
    earlyFigures,
    shadowCase,
    [buildDecision(0, "retry", 8)],
    [buildAttempt(0), buildAttempt(4.9), buildAttempt(5), buildAttempt(6)],
    LATER,
  );
  assert.equal(earlyFigures.forbidden.tries, 1, "what a rule forbids begins and ends to the minute");
  addCase(
    figures,
    shadowCase,
    [buildDecision(0, "retry", 2)],
    [buildAttempt(0), buildAttempt(3, { state: "PAID" })],
    LATER,
  );
  assert.deepEqual(figures.stances.later, { tries: 1, approved: 1 });
});

test("an attempt is compared with the decision before it, although the merchant's clock may be ahead", () => {
  const figures = newShadowFigures();
  const decisions = [buildDecision(0, "retry", 3), buildDecision(3 - 1 / 24 / 60, "retry", 9)];
  addCase(figures, shadowCase, decisions, [buildAttempt(0), buildAttempt(3)], LATER);
  assert.equal(figures.stances.same.tries, 1);
});

test("actions of a person, unsettled attempts and attempts after the end are not retries of the merchant", () => {
  const figures = newShadowFigures();
  const decisions = [buildDecision(0, "retry", 1)];
  const over = {
    ...shadowCase,
    endedAt: new Date(+START + 4 * DAY),
    endReason: "voided",
    amount: 5,
    currency: "EUR",
  } as ShadowCase;
  addCase(
    figures,
    over,
    decisions,
    [
      buildAttempt(0),
      buildAttempt(1, { initiator: "CUSTOMER" }),
      buildAttempt(2, { state: "PENDING" }),
      buildAttempt(5),
    ],
    LATER,
  );
  assert.equal(
    STANCES.reduce((sum, stance) => sum + figures.stances[stance].tries, 0),
    0,
  );
  // The first charge may be dated after the copy of the invoice.
  addCase(figures, over, decisions, [buildAttempt(0.01), buildAttempt(1)], LATER);
  assert.equal(figures.stances.same.tries, 1);
  // It may have been made by the customer.
  addCase(figures, over, decisions, [buildAttempt(0, { initiator: "CUSTOMER" }), buildAttempt(1)], LATER);
  assert.equal(figures.stances.same.tries, 2);
  assert.deepEqual([figures.cases, figures.counted, figures.money.size], [3, 0, 0], "a voided one counts nowhere");
});

test("no prediction is compared when the static policy decided", () => {
  const figures = newShadowFigures();
  addCase(
    figures,
    shadowCase,
    [{ ...buildDecision(0, "retry", 1), chance: null }],
    [buildAttempt(0), buildAttempt(1, { state: "PAID" })],
    LATER,
  );
  assert.deepEqual(figures.stances.same, { tries: 1, approved: 1 });
  assert.deepEqual(figures.foreseen, { tries: 0, approved: 0, expected: 0 });
});
