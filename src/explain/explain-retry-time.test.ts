import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { readPretrainedModel } from "../../lab/trial/open-world.ts";
import { fromPretrained } from "../engine/learned/pretrained-model.ts";
import { recordPrediction } from "../engine/learned/shortfall.ts";
import type { MerchantSettings } from "../merchants/merchant-settings.ts";
import { DAY, HOUR, MINUTE, openStage, START } from "../recovery/stage.fixture.ts";
import { explainInvoice, findAnswer } from "./answers.fixture.ts";
import { buildExplanation } from "./answers.ts";
import { loadExplainedCase } from "./load-explained-case.ts";

// The answers about the chosen time, and about others.

const stage = await openStage();
after(() => stage.drop());
let merchantId: string;
const enterMerchant = async (settings: MerchantSettings = {}) => {
  merchantId = (await stage.enter(true, settings)).id;
};
beforeEach(() => enterMerchant());

const findText = (question: string, invoiceId = "inv_1") => findAnswer(stage, merchantId, question, invoiceId);

test("past times are not offered, and the answer says that today's best time has passed", async () => {
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  const [decision] = (await loadExplainedCase(stage.db, merchantId, "inv_1", stage.now()))!.decisions;
  const { idealTime, account } = decision!;
  const other = account.days.find(({ at }, n) => n > 1 && Math.abs(+at - +idealTime!) > DAY)!;
  stage.at(+other.at + HOUR);
  const [today, ...others] = (await findText("Why not today?")).split("\n");
  assert.match(today!, /^The best time today was ... \d+ March, .*, which has passed: a chance of /);
  const dayOf = (line: string) => Number(/ (\d+) March/.exec(line)?.[1]);
  const offered = others.filter((line) => /^(Next best|Better), /.test(line)).map(dayOf);
  assert.ok(offered.length > 0 && offered.every((day) => day > dayOf(today!)), others.join("\n"));
});

test("while the outcome of a retry is awaited no other day is compared", async () => {
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  const { ideal } = await stage.untilSent();
  stage.at(+ideal + 30 * HOUR);
  assert.match(await findText("Why not today?"), /^A retry was requested for .*, and its outcome is awaited first\.$/);
});

test("without a reported attempt, no answer says that one was too recent", async () => {
  stage.at(START.getTime() + 12.5 * HOUR);
  await stage.invoice();
  await stage.decide();
  assert.match(
    await findText("Why not today?"),
    /^The first possible day is Wed 4 March: no attempt by the merchant was reported, and the invoice became unpaid on Mon 2 March, 22:30\. A retry is not considered within 24 hours of that/,
  );
});

test("when the wait after the last attempt takes up the rest of today, only that attempt and its wait are named", async () => {
  const findReason = async (code: string, at: number) => {
    await enterMerchant();
    stage.at(at);
    await stage.invoice();
    await stage.transaction({ networkDeclineCode: code });
    await stage.decide();
    return await findText("Why not today?");
  };
  const late = await findReason("51", START.getTime() + 11 * HOUR);
  assert.match(
    late,
    /: the last attempt was on Mon 2 March, 22:00\. A retry is not considered within 24 hours of that\. From then on, Dunlin considers one time each half day/,
  );
  assert.doesNotMatch(late, /card or a confirmation|outage/);
});

test("an attempt that the customer made is not called the last one", async () => {
  stage.at(START.getTime() + 11 * HOUR);
  await stage.invoice();
  await stage.transaction();
  stage.at(START.getTime() + 12 * HOUR);
  await stage.transaction({ id: "txn_2", initiator: "CUSTOMER" });
  await stage.decide();
  assert.match(await findText("Why not today?"), /: the last attempt was on Mon 2 March, 22:00\./);
});

test("under fixed rules the answer says why they chose that time, and that no times are compared", async () => {
  await enterMerchant({ engine: "static" });
  await stage.invoice();
  await stage.transaction({ networkDeclineCode: "61" });
  await stage.decide();
  assert.match(
    await findText("Why not today?"),
    /^Fixed rules choose the time and compare it with no other:\n.*amount limit.*\nLimits usually reset/,
  );
});

test("under fixed rules no answer says that a time of today was compared", async () => {
  await enterMerchant({ engine: "static" });
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  assert.match(await findText("Why not today?"), /^Fixed rules choose the time and compare it with no other/);
});

test("after the first day only the likeliest time of each 24 hours is compared, and the answer says so", async () => {
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  const { decisions } = (await loadExplainedCase(stage.db, merchantId, "inv_1", stage.now()))!;
  const { days } = decisions[0]!.account;
  const dayOf = (at: Date) => Math.floor((+at + HOUR) / DAY);
  const bare = days.find(({ at }, n) => n > 0 && dayOf(at) > dayOf(days[n - 1]!.at) + 1);
  stage.at(bare ? +bare.at - DAY : +days.at(-1)!.at + DAY);
  assert.match(
    await findText("Why not today?"),
    /^No time today was compared\. After the first day, Dunlin compares only the likeliest/,
  );
});

test("the answer says that another day is better when a time or an hour was sampled", async () => {
  await enterMerchant({ explore: true });
  const worthMore: boolean[] = [];
  for (let n = 0; n < 60; n++) {
    const [id, customerId] = [`inv_${n}`, `cus_${n}`];
    await stage.invoice({ id, customerId });
    await stage.transaction({ invoiceId: id, customerId, cardFingerprint: `fp_${n}` });
  }
  await stage.decide();
  for (let n = 0; n < 60; n++) {
    const { decisions, answerTo } = await explainInvoice(stage, merchantId, `inv_${n}`);
    const { drawn, hourDrawn } = decisions[0]!.account;
    const answer = answerTo("Why not today?");
    if (answer === "The retry is planned for today.") continue;
    assert.equal(/Dunlin chose this time at random/.test(answer), drawn, answer);
    assert.equal(/The day is the best one\. Dunlin chose the hour at random/.test(answer), hourDrawn, answer);
    const { idealTime, chance, account } = decisions[0]!;
    const [planned] = / for (... \d+ \w+, \d\d:\d\d)/.exec(answerTo("Next step"))!.slice(1);
    const percent = (share: number) => `${Math.round(share * 100)}%`;
    assert.ok(
      answer.includes(
        `Chosen: ${planned}: a chance of ${percent(chance!)}, and with the following retries an expected value of ${percent(account.even!.planWorth)}`,
      ),
      `${idealTime!.toISOString()} ${answer}`,
    );
    if (/^Better/m.test(answer)) assert.ok(drawn || hourDrawn || /found step by step/.test(answer), answer);
    worthMore.push(/^Better/m.test(answer));
  }
  assert.equal(new Set(worthMore).size, 2);
});

test("Why this hour? It was sampled, and the answer says so only then", async () => {
  await enterMerchant({ explore: true });
  const invoices = Array.from({ length: 40 }, (_, n) => `inv_${n}`);
  for (const [n, id] of invoices.entries()) {
    await stage.invoice({ id, customerId: `cus_${n}` });
    await stage.transaction({ invoiceId: id, customerId: `cus_${n}`, cardFingerprint: `fp_${n}` });
  }
  await stage.decide();
  const sampled: string[] = [];
  for (const id of invoices) {
    const { decisions, answerTo } = await explainInvoice(stage, merchantId, id);
    const answers = [answerTo("Why this hour?"), answerTo("How Dunlin chose")];
    const [{ account }] = decisions as [(typeof decisions)[0]];
    if (account.hourDrawn) sampled.push(id);
    for (const answer of [...answers, account.reasons.join()])
      assert.equal(/Dunlin chose the hour at random/.test(answer), account.hourDrawn, answer);
    const [planned] = / for (... \d+ \w+, \d\d:\d\d)/.exec(answerTo("Next step"))!.slice(1);
    const notToday = answerTo("Why not today?");
    if (notToday !== "The retry is planned for today.")
      assert.ok(notToday.includes(planned!), `${planned}: ${notToday}`);
  }
  assert.ok(sampled.length > 0 && sampled.length < 20, `${sampled.length}`);
});

test("Why this hour? Retries are evenly spaced while predictions fail, and the answer says so only then", async () => {
  const model = fromPretrained(readPretrainedModel());
  for (let n = 0; n < 80; n++)
    recordPrediction(model, { firstReason: "FUNDS" }, 0.5, +START - (80 - n) * HOUR, "FUNDS");
  await stage.storeLearned(model);
  let evenlySpacedCount = 0;
  for (let n = 0; n < 20; n++) {
    const id = `inv_${n}`;
    await stage.invoice({ id, customerId: `cus_${n}` });
    await stage.transaction({
      invoiceId: id,
      customerId: `cus_${n}`,
      cardFingerprint: `fp_${n}`,
      networkDeclineCode: "51",
    });
    await stage.decide();
    const { decisions, answerTo } = await explainInvoice(stage, merchantId, id);
    const { account } = decisions[0]!;
    if (account.spread) evenlySpacedCount++;
    const answers = ["Why this hour?", "How Dunlin chose", "Why not today?"].map(answerTo);
    for (const answer of [...answers, account.reasons.join()])
      assert.equal(
        /far fewer retries after such declines were approved than predicted/.test(answer),
        account.spread,
        answer,
      );
  }
  assert.ok(evenlySpacedCount > 4 && evenlySpacedCount < 20, `${evenlySpacedCount}`);
});

test("each likelier hour is called not better, better, or not compared", async () => {
  const allCounts = { less: 0, more: 0, unknown: 0 };
  for (let n = 0; n < 12; n++) {
    await enterMerchant();
    stage.wait(n * 17 * HOUR);
    await stage.invoice({ customerId: `cus_${n}` });
    await stage.transaction({ customerId: `cus_${n}`, networkDeclineCode: ["51", "61", "91", "05"][n % 4]! });
    await stage.decide();
    const { decisions, answerTo } = await explainInvoice(stage, merchantId, "inv_1");
    const { account, chance } = decisions[0]!;
    const words = answerTo("Why this hour?");
    const countHours = (phrase: string) => {
      const [, hours = null] = new RegExp(`^At ([\\d:, and]+) ${phrase}`, "m").exec(words) ?? [];
      return hours === null ? 0 : hours.split(/, | and /).length;
    };
    const isAbove = (a: number, b: number) => Math.round(a * 100) > Math.round(b * 100);
    const isDrawn = account.drawn || account.hourDrawn || account.spread;
    const likelier = isDrawn ? [] : account.hours.filter((hour) => isAbove(hour.chance, chance!));
    const compared = likelier.filter(({ worth }) => worth !== null);
    const betterCount = compared.filter(({ worth }) => isAbove(worth!, account.even!.planWorth)).length;
    const counts = {
      less: compared.length - betterCount,
      more: betterCount,
      unknown: likelier.length - compared.length,
    };
    assert.deepEqual(
      {
        less: countHours("the chance was higher, but the expected value was not:"),
        more: countHours("the expected value was higher"),
        unknown: countHours("the chance was higher, but the expected value was not computed"),
      },
      counts,
      words,
    );
    for (const kind of ["less", "more", "unknown"] as const) allCounts[kind] += counts[kind];
  }
  assert.ok(allCounts.less > 0 && allCounts.unknown > 0, JSON.stringify(allCounts));
});

test("a retry requested today is not announced as one to come today", async () => {
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  const { ideal } = await stage.untilSent();
  stage.at(+ideal - MINUTE);
  assert.equal(await findText("Why not today?"), "The retry is planned for today.");
  stage.at(+ideal + MINUTE);
  assert.match(await findText("Why not today?"), /^A retry was requested for .*, and its outcome is awaited first\.$/);
  assert.match(await findText("Why this hour?"), /^The retry was for /);
});

/** "Why this hour?" of a first decision, had its hours all been likelier than the one that was chosen, and been worth this. */
async function describeHours(values: readonly (number | null)[]) {
  await enterMerchant();
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  const explained = (await loadExplainedCase(stage.db, merchantId, "inv_1", stage.now()))!;
  const [decision] = explained.decisions;
  const plain = { ...decision!.account, drawn: false, hourDrawn: false, spread: false };
  const hours = plain.hours.map((hour, n) => ({ ...hour, chance: 1, worth: values[n] ?? null }));
  const decisions = [{ ...decision!, account: { ...plain, hours } }];
  return buildExplanation({ ...explained, decisions }).find(({ question }) => question === "Why this hour?")!.answer;
}

test("no hour of an earlier version is called not compared", async () => {
  assert.match((await describeHours([0])).join(" "), /was not computed/);
  assert.doesNotMatch((await describeHours([])).join(" "), /was not computed/);
});

test("each likelier hour appears once: not better, better, or not compared", async () => {
  const hourLines = (await describeHours([0, 1])).filter((line) => line.startsWith("At "));
  assert.deepEqual(
    hourLines.map((line) => /the expected value was not:|value was higher|not computed/.exec(line)?.[0]),
    ["the expected value was not:", "value was higher", "not computed"],
  );
  const hours = hourLines.flatMap((line) => /^At ([\d:, ]+) /.exec(line)![1]!.split(", "));
  assert.ok(hours.length > 2);
  assert.deepEqual(hours, [...new Set(hours)]);
});

test("How Dunlin chose The chances come from simulations while the model is the pretrained one", async () => {
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  const answer = await findText("How Dunlin chose");
  assert.match(answer, /with version 0 of the model\.\nThis is the pretrained model/);
  const explained = (await loadExplainedCase(stage.db, merchantId, "inv_1", stage.now()))!;
  const decisions = explained.decisions.map((each) => ({ ...each, modelVersion: 1 }));
  const later = buildExplanation({ ...explained, decisions }).find(({ question }) =>
    /How Dunlin chose/.test(question),
  )!;
  assert.doesNotMatch(later.answer.join(" "), /pretrained/);
});
