import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { DAY, HOUR, MINUTE, openStage, START } from "../recovery/stage.fixture.ts";
import { findAnswer } from "./answers.fixture.ts";
import { buildExplanation } from "./answers.ts";
import { loadExplainedCase } from "./load-explained-case.ts";

// The output of `dunlin explain` alone answers the questions about an invoice.

const stage = await openStage();
after(() => stage.drop());
let merchantId: string;
beforeEach(async () => {
  merchantId = (await stage.enter()).id;
});

const findText = (question: string, invoiceId = "inv_1") => findAnswer(stage, merchantId, question, invoiceId);

/** A Swedish customer whose earlier bills were all paid at the end of the month. */
async function createFailedInvoice(overrides: Parameters<typeof stage.transaction>[0] = {}) {
  for (const month of [10, 11, 12]) {
    const id = `inv_2025_${month}`;
    const createdAt = new Date(Date.UTC(2025, month - 1, 2, 10));
    const paidAt = new Date(Date.UTC(2025, month - 1, 27, 10));
    await stage.invoice({ id, state: "PAID", createdAt, updatedAt: paidAt });
    const attempt = { invoiceId: id, cardCountry: "SE" };
    await stage.transaction({ ...attempt, createdAt, updatedAt: createdAt });
    await stage.transaction({ ...attempt, state: "PAID", createdAt: paidAt, updatedAt: paidAt });
  }
  await stage.invoice();
  await stage.transaction({ cardCountry: "SE", ...overrides });
  await stage.decide();
}

test("History The amount, each attempt with the bank's word, each retry with its end", async () => {
  await createFailedInvoice();
  const sent = await stage.untilSent();
  stage.at(sent.ideal);
  stage.wait(HOUR);
  await stage.transaction({ cardCountry: "SE", networkDeclineCode: "91" });
  await stage.decide();
  const answer = await findText("History");
  assert.match(answer, /^inv_1: EUR 49\.00, UNPAID\./);
  assert.match(answer, /not enough money \(code 51\)/);
  assert.match(answer, /A retry on .* was requested, and failed on .*\./);
  assert.match(answer, /\(code 91\)/);
});

test("History The time of an outcome, unless a retry was made at its planned time", async () => {
  await createFailedInvoice();
  const explained = (await loadExplainedCase(stage.db, merchantId, "inv_1", stage.now()))!;
  const [action] = explained.actions;
  const decidedAt = stage.now();
  const findOutcome = (overrides: Partial<typeof action>) => {
    const actions = [{ ...action!, decidedAt, status: "SUCCEEDED" as const, ...overrides }];
    return buildExplanation({ ...explained, actions })[0]!.answer.find((line) => line.includes("was requested"))!;
  };
  const attemptedAt = action!.idealRetryTime;
  const later = new Date(+attemptedAt + HOUR);
  assert.match(findOutcome({ attemptedAt }), /A retry on .* was requested, and succeeded\.$/);
  assert.match(findOutcome({ attemptedAt: later }), /A retry on .* was requested, and succeeded on .*, \d\d:\d\d\.$/);
  assert.match(findOutcome({ attemptedAt: null }), /A retry on .* was requested, and succeeded\.$/);
  for (const at of [attemptedAt, later])
    assert.match(
      findOutcome({ type: "CARD_CHANGE", attemptedAt: at }),
      /Another card or payment method was requested, and the invoice was paid on .*, \d\d:\d\d\.$/,
    );
});

test("Next step The time, its chance, and whether it may still change", async () => {
  await createFailedInvoice();
  assert.match(
    await findText("Next step"),
    /^A retry is planned for ... \d+ March, \d\d:\d\d and may still change\. The chance of success is \d+%\.$/m,
  );
  await stage.untilSent();
  assert.match(await findText("Next step"), / was requested for .* endpoint has accepted the request\./);
});

test("Why not today? The expected value of today's best time, the chosen one and others", async () => {
  await createFailedInvoice({ networkDeclineCode: "61" });
  const answer = await findText("Why not today?");
  assert.match(answer, /The best time today is Mon 2 March.*a chance of \d+%.*expected value of \d+%/);
  assert.match(answer, /Chosen: .*a chance of \d+%.*expected value of \d+%/);
  assert.match(answer, /^(Next best|As good), .*: a chance of \d+%, expected value \d+%\.$/m);
  const values = [...answer.matchAll(/expected value (?:of )?(\d+)%/g)].map(([, value]) => Number(value));
  assert.ok(values[1]! >= values[0]!, answer);
});

test("Why not today? A rule, when one forbids it, with its source", async () => {
  await createFailedInvoice({ cardBrand: "mastercard", networkAdviceCode: "28" });
  assert.match(
    await findText("Why not today?"),
    /^A rule allows no retry until .*6 days.*\nSource: Mastercard merchant advice codes.*docs\/sources\.md#/,
  );
});

test("Why this hour? The chances at the other hours of that day", async () => {
  await createFailedInvoice();
  const hours = [...(await findText("Why this hour?")).matchAll(/(\d+)% at \d\d:\d\d/g)];
  assert.ok(hours.length >= 3);
});

test("Why this hour? The latest decision answers, also when it is no retry", async () => {
  await createFailedInvoice();
  const sent = await stage.untilSent();
  stage.at(sent.ideal);
  await stage.transaction({ cardCountry: "SE", networkDeclineCode: "54" });
  await stage.decide();
  assert.match(await findText("Next step"), /^A change of the card/);
  assert.equal(
    await findText("Why this hour?"),
    "No hour was chosen: the customer is asked at once for another card or payment method.",
  );
});

test("Limits The times each one excluded, its document and date, and the use of each limit", async () => {
  await createFailedInvoice({ cardBrand: "mastercard", networkAdviceCode: "28" });
  const answer = await findText("Limits");
  assert.match(answer, /No retry from .* to .*advised waiting 6 days/);
  assert.match(answer, /Mastercard allows at most 10 declined attempts on a card in 24 hours.*Counted so far: \d+/);
});

test("Why a new card? The decline that ended the card, and the rule that blocks it", async () => {
  await createFailedInvoice({ networkDeclineCode: "41" });
  const answer = await findText("Why a new card?");
  assert.match(
    answer,
    /^Another card or payment method was requested on Mon 2 March, 11:00:\n.*reported lost \(code 41\)/,
  );
  assert.match(answer, /Visa does not allow another attempt/);
  assert.match(await findText("Why not today?"), /new card/);
});

test("Why a new card? None was requested if the card may still work", async () => {
  await createFailedInvoice();
  assert.match(
    await findText("Why a new card?"),
    /^No other card or payment method was requested\.\nThe current one may still work/,
  );
});

test("Why did it stop? The end and its reasons", async () => {
  await createFailedInvoice({ networkDeclineCode: "R0" });
  const answer = await findText("Why did it stop?");
  assert.match(
    answer,
    /^Dunlin gave up on the invoice\.\n.*the customer stopped this payment \(code R0\)\.\nVisa does not allow another attempt on a card after such a decline \(.*\)\.\nA later retry will not/,
  );
  const story = await findText("History");
  assert.match(
    story,
    /The case ended: Dunlin gave up on the invoice, because a rule or the bank.s decline ruled out another retry\./,
  );
  assert.doesNotMatch(answer + story, /no try that is allowed is likely enough to succeed/);
});

test("Why did it stop? It has not, or it was paid", async () => {
  await createFailedInvoice();
  assert.equal(await findText("Why did it stop?"), "It has not stopped.");
  stage.wait(HOUR);
  await stage.invoice({ state: "PAID" });
  await stage.decide();
  assert.match(await findText("Why did it stop?"), /the invoice is paid/);
});

test("Compared with six evenly spaced retries Their days, chance and worth beside the plan's", async () => {
  await createFailedInvoice();
  const answer = await findText("Compared with six evenly spaced retries");
  const [even, plan, asMany] = [...answer.matchAll(/expected value (\d+)%/g)].map((match) => Number(match[1]));
  assert.ok(plan! >= asMany! && asMany! >= even!, answer);
  const days = answer.match(/6 evenly spaced retries on (.*) recover/)![1]!.split(", ");
  assert.equal(days.length, 6);
  assert.match(answer, /overrates its own plans.* Evenly spaced retries recovered/);
});

test("Changes since the last decision The new facts, one by one", async () => {
  await createFailedInvoice();
  assert.match(await findText("Changes since the last decision"), /first decision/);
  const sent = await stage.untilSent();
  stage.at(sent.ideal.getTime() + MINUTE);
  await stage.transaction({ cardCountry: "SE", networkDeclineCode: "61" });
  await stage.decide();
  const answer = await findText("Changes since the last decision");
  assert.match(answer, /limit.*\(code 61\)/);
  assert.match(answer, /An attempt failed on/);
  assert.match(answer, /\n7 retries of the budget are left\.$/);
  assert.doesNotMatch(answer, /Counted so far|The window is open/);
});

test("Input data No attempt is claimed for an invoice without a reported one", async () => {
  await stage.invoice();
  await stage.decide();
  const answer = await findText("Input data");
  assert.match(answer, /^As of Mon 2 March, 10:00:\nNo failed attempt with the current card was reported/);
  assert.match(answer, /A first attempt is assumed to have failed when the invoice became unpaid, on Mon 2 March/);
  assert.doesNotMatch(answer, /An attempt failed on/);
});

test("Input data The customer's earlier invoices, card, country and window", async () => {
  await createFailedInvoice();
  const answer = await findText("Input data");
  assert.match(
    answer,
    /The first attempt was declined on 3 of the latest 3 invoices before this one\. Declined invoices were paid on .*27 October/,
  );
  assert.match(answer, /paid by card \(Visa, SE\)\.$/m);
  assert.match(answer, /The window is open until/);
});

test("How Dunlin chose Engine, version and probability; by fixed rules where the merchant wants that", async () => {
  await createFailedInvoice();
  assert.match(await findText("How Dunlin chose"), /with version 0.*\nNothing was sampled: no other time/s);
  merchantId = (await stage.enter(true, { explore: true })).id;
  await createFailedInvoice();
  assert.match(
    await findText("How Dunlin chose"),
    /learned engine decided, with version 0.*\nDunlin chose this time with a probability of \d+\.\d%\. This selection probability is used to compare strategies\. It is not the chance of success\.$/s,
  );
  merchantId = (await stage.enter(true, { engine: "static" })).id;
  await createFailedInvoice();
  assert.match(await findText("How Dunlin chose"), /static policy decided/);
  assert.match(
    await findText("Compared with six evenly spaced retries"),
    /No alternatives .*: the static policy decided/,
  );
  assert.match(await findText("Why this hour?"), /\w/);
});

test("The answers name the time zone once, and the use of limits only among the rules", async () => {
  await createFailedInvoice();
  const explained = (await loadExplainedCase(stage.db, merchantId, "inv_1", stage.now()))!;
  const lines = buildExplanation(explained).flatMap(({ answer }) => answer);
  assert.deepEqual(
    lines.filter((line) => /Europe\/Stockholm/.test(line)),
    ["Times are those of Europe/Stockholm."],
  );
  assert.equal(lines.filter((line) => /Counted so far/.test(line)).length, 1);
});

test("An invoice that was never in recovery is explained, and an unknown one is not", async () => {
  await stage.invoice({ id: "inv_paid", state: "PAID", updatedAt: new Date(START.getTime() + DAY) });
  assert.match(await findText("Why Dunlin did nothing", "inv_paid"), /^This invoice was never in recovery\./);
  assert.equal(await loadExplainedCase(stage.db, merchantId, "inv_unknown", stage.now()), null);
});

test("Why Dunlin did nothing An experiment leaves the customer to the merchant's own system", async () => {
  await stage.start({ share: 0.01 });
  await stage.invoice();
  await stage.decide();
  assert.match(
    await findText("Why Dunlin did nothing"),
    /^An experiment assigned this customer to the merchant's own system/,
  );
  const explained = (await loadExplainedCase(stage.db, merchantId, "inv_1", stage.now()))!;
  const questions = buildExplanation(explained).map(({ question }) => question);
  assert.deepEqual(questions, ["History", "Why Dunlin did nothing", "Why did it stop?"]);
  assert.equal(await findText("Why did it stop?"), "The merchant's own system continues.");
});

test("in shadow mode each answer says that Dunlin only logs, and the merchant's own system continues", async () => {
  merchantId = (await stage.enter(true, { shadow: true })).id;
  await createFailedInvoice();
  assert.match(await findText("Next step"), /only logs what it would do\.\nIt would request a retry on/);
  assert.match(await findText("Why this hour?"), /^The retry would be for /);
  assert.equal(await findText("Why did it stop?"), "The merchant's own system continues.");
  await stage.transaction({ cardCountry: "SE", networkDeclineCode: "R0" });
  await stage.decide();
  assert.match(
    await findText("Why did it stop?"),
    /^The merchant's own system continues\.\nDunlin would give up on the invoice\.\n.*\(code R0\)/s,
  );
  assert.equal(await findText("Why this hour?"), "No hour was chosen: no other retry is made.");
});

test("in shadow mode no answer says that another card was requested", async () => {
  merchantId = (await stage.enter(true, { shadow: true })).id;
  await createFailedInvoice({ networkDeclineCode: "41" });
  assert.match(
    await findText("Why a new card?"),
    /^Another card or payment method would have been requested on Mon 2 March, 11:00:\n/,
  );
  const history = await findText("History");
  assert.match(history, /Shadow mode: Dunlin would ask for another card or payment method\.$/m);
});

test("the answers do not call a case waiting when it ended before the first decision", async () => {
  await stage.invoice();
  stage.wait(MINUTE);
  await stage.invoice({ state: "PAID", updatedAt: stage.now() });
  await stage.decide();
  assert.match(await findText("Why Dunlin did nothing"), /Nothing was decided before the case ended/);
});
