import assert from "node:assert/strict";
import { test } from "node:test";
import type { Account, DecisionRecord } from "../../domain/decision.ts";
import { textOf } from "../html.ts";
import { considered, hasConsidered } from "./considered.ts";

const CARD = { paymentMethodType: "card", network: "visa", cardCountry: null };

const START = new Date("2026-03-02T08:00:00Z");
const day = (n: number, hour = 0) => new Date(+START + n * 86_400_000 + hour * 3_600_000);

function decided(account: Partial<Account>): DecisionRecord {
  const empty: Account = {
    reasons: [],
    known: [],
    about: { wait: [], rule: [], limit: [], tally: [] },
    knowsFailure: true,
    changed: [],
    ruledOut: [],
    days: [],
    hours: [],
    even: null,
    drawn: false,
    hourDrawn: false,
    spread: false,
    fallback: null,
  };
  return {
    caseId: "c",
    number: 1,
    madeAt: START,
    engine: "learned",
    modelVersion: 1,
    kind: "retry",
    actionId: "a",
    idealTime: day(3),
    chance: 0.41,
    propensity: 0.9,
    facts: "",
    account: { ...empty, ...account },
  };
}

const DAYS = [1, 2, 3, 4].map((n) => ({
  at: day(n),
  chance: n === 3 ? 0.4 : 0.1 * n,
  worth: n === 3 ? 0.5 : 0.05 * n,
}));

const EVEN = {
  tries: [day(4)],
  recovers: 0.5,
  worth: 0.4,
  plan: [day(3)],
  planRecovers: 0.63,
  planWorth: 0.5,
  asMany: null,
};

test("the plot, the sentences and the table say the same", () => {
  const ruledOut = [{ rule: "Visa allows <15> tries.", source: "Visa Core Rules", from: day(5), to: day(6) }];
  const page = textOf(considered(decided({ days: DAYS, ruledOut, even: EVEN }), day(28), "UTC", CARD));
  assert.match(
    page,
    /Chosen: 5 Mar 2026 08:00, with a chance of 41%\. 4 days were compared; the next best moment is 6 Mar 2026 08:00, with 40%\./,
  );
  assert.match(
    page,
    /With this plan of 1 try the invoice is recovered with a chance of 63%, with 1 try spread evenly 50%\. A model flatters/,
  );
  assert.equal(page.match(/class="moment"/g)?.length, 3);
  assert.equal(page.match(/class="moment chosen"/g)?.length, 1);
  assert.equal(page.match(/class="ruled"/g)?.length, 1);
  assert.match(page, /No try from[\s\S]*Visa allows &lt;15&gt; tries\. <small>Visa Core Rules/);
  assert.equal(page.match(/<tr><td[^>]*><time/g)?.length, 4);
  assert.match(page, /41%<\/td><td class="number"[^>]*>50%<\/td><td><small>chosen/);
});

test("a moment that was drawn stands beside the best one of its day, each with what it is worth itself", () => {
  const even = {
    tries: [],
    recovers: 0,
    worth: 0,
    plan: [day(3, 4)],
    planRecovers: 0.6,
    planWorth: 0.48,
    asMany: null,
  };
  const hours = [
    { at: day(3), chance: 0.4, worth: 0.5 },
    { at: day(3, 4), chance: 0.41, worth: null },
  ];
  const drawn = { ...decided({ days: DAYS, hours, even, hourDrawn: true }), idealTime: day(3, 4) };
  const page = textOf(considered(drawn, day(28), "UTC", CARD));
  assert.equal(page.match(/class="moment"/g)?.length, 4);
  assert.match(page, /41%<\/td><td class="number"[^>]*>48%<\/td><td><small>chosen/);
  assert.match(page, /40%<\/td><td class="number"[^>]*>50%<\/td><td><small>best compared of its day/);
  assert.match(page, /41%<\/td><td class="number"[^>]*>not compared<\/td><td><small>hour of the chosen day, chosen/);
});

test("where all hours of the day are alike they are not told as a range", () => {
  const of = (...chances: number[]) => {
    const hours = chances.map((chance, k) => ({ at: day(3, 4 * k), chance, worth: null }));
    return textOf(considered(decided({ days: DAYS, hours, even: EVEN }), day(28), "UTC", CARD));
  };
  assert.match(of(0.712, 0.714), /On the chosen day the chance is 71% at each hour that was looked at\./);
  assert.match(of(0.8, 0.712), /On the chosen day chances by the hour go from 71% to 80%\./);
});

test("beside even tries the words are those of the way of paying", () => {
  const page = textOf(
    considered(decided({ days: DAYS, even: EVEN }), day(28), "UTC", {
      ...CARD,
      paymentMethodType: "ach_debit",
      network: null,
    }),
  );
  assert.match(page, /world of bank debits plans recovered what the model said/);
  assert.doesNotMatch(page, /flatters/);
});

test("a plan of more tries than the even ones has one of as many beside it", () => {
  const asMany = { recovers: 0.58, worth: 0.45 };
  const even = {
    tries: [day(4)],
    recovers: 0.5,
    worth: 0.4,
    plan: [day(3), day(5)],
    planRecovers: 0.63,
    planWorth: 0.5,
  };
  const page = textOf(considered(decided({ days: DAYS, even: { ...even, asMany } }), day(28), "UTC", CARD));
  assert.match(
    page,
    /With this plan of 2 tries the invoice is recovered with a chance of 63%, with 1 try spread evenly 50%, with a plan of 1 try 58%\./,
  );
});

test("a rule that holds to the end of the window is said to", () => {
  const page = (to: Date) => {
    const ruledOut = [{ rule: "Never.", source: "Rules", from: day(5), to }];
    return textOf(considered(decided({ days: DAYS, ruledOut }), day(28), "UTC", CARD));
  };
  assert.match(page(day(28)), /No try from .* to the end of the window: Never/);
  assert.doesNotMatch(page(day(27, 23)), /end of the window: Never/, "a retry may stand in the hour that is left");
});

test("on the clocks of the reader a moment is on the day that it is there", () => {
  const page = textOf(considered(decided({ days: DAYS }), day(28), "Pacific/Auckland", CARD));
  assert.match(page, /Chosen: 5 Mar 2026 21:00/);
});

test("an hour that was drawn is said to be", () => {
  assert.match(
    textOf(considered(decided({ days: DAYS, hourDrawn: true }), day(28), "UTC", CARD)),
    /its hour drawn by how likely/,
  );
});

test("a moment that was drawn by lot is said to be", () => {
  assert.match(
    textOf(considered(decided({ days: DAYS, drawn: true }), day(28), "UTC", CARD)),
    /drawn by lot among good ones/,
  );
});

test("a moment that was spread evenly is said to be", () => {
  assert.match(
    textOf(considered(decided({ days: DAYS, spread: true }), day(28), "UTC", CARD)),
    /spread evenly, since far fewer tries/,
  );
});

test("where nothing was compared there is nothing to plot", () => {
  assert.equal(hasConsidered(decided({})), false);
  assert.equal(hasConsidered({ ...decided({ days: DAYS }), idealTime: null }), false);
  assert.equal(hasConsidered({ ...decided({ days: DAYS }), chance: null }), false);
});
