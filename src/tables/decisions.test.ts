import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import type { DecisionAccount, DecisionRecord } from "../domain/decision.ts";
import { MINUTE_MS } from "../domain/durations.ts";
import { prepared } from "../postgres/database.ts";
import { decisionsOfCase, explanatoryDecisions, insertDecisions, latestDecisions } from "./decisions.ts";
import { toStoredAccount } from "./stored-decision-account.ts";

const MERCHANT = "0198a000-0000-7000-8000-000000000001";
const CASE = "0198a000-0000-7000-8000-00000000000c";
const FORMER_CASE = "0198a000-0000-7000-8000-00000000000f";
const LONG_CASE = "0198a000-0000-7000-8000-000000000010";
const ACTIONS = ["0198a000-0000-7000-8000-0000000000a1", "0198a000-0000-7000-8000-0000000000a2"] as const;
const LABELED_CASE = "0198a000-0000-7000-8000-00000000000e";
const at = (day: number) => new Date(Date.UTC(2026, 5, day, 9));
const ACCOUNT: DecisionAccount = {
  reasons: ["One.", "Two."],
  known: ["Three."],
  about: { wait: [0], rule: [], limit: [], tally: [0] },
  knowsFailure: true,
  changed: [],
  ruledOut: [{ rule: "A rule.", source: "A document.", from: at(2), to: at(3) }],
  days: [
    { at: at(4), chance: 0.1234, worth: -0.02 },
    { at: new Date(at(5).getTime() + 169_551), chance: 0, worth: 1 },
  ],
  hours: [
    { at: at(6), chance: 0.3, worth: 0.2 },
    { at: at(7), chance: 0.25, worth: null },
  ],
  even: {
    tries: [at(4), at(8)],
    recovers: 0.5,
    worth: 0.4,
    plan: [at(5), at(6), at(7)],
    planRecovers: 0.6,
    planWorth: 0.55,
    asMany: { recovers: 0.55, worth: 0.5 },
  },
  drawn: false,
  hourDrawn: true,
  spread: true,
  fallback: null,
};
const record = (number: number, account: DecisionAccount): DecisionRecord => ({
  caseId: CASE,
  number,
  madeAt: at(1),
  engine: "learned",
  modelVersion: 3,
  kind: "retry",
  actionId: null,
  idealTime: at(5),
  chance: 0.3,
  propensity: 0.97,
  facts: "f",
  account,
});
const OVERWRITE = prepared(
  "test_overwrite_account",
  "update decisions set account = $2 where merchant_id = $1 and number = 1",
);

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(() => database.drop());

test("an account is read as it was stored, including accounts of earlier versions", async () => {
  const { db } = database;
  const records = [record(1, ACCOUNT), record(2, { ...ACCOUNT, days: [], even: null, ruledOut: [], drawn: true })];
  await db.transaction((tx) => insertDecisions(tx, MERCHANT, records));
  assert.deepEqual(await db.transaction((tx) => decisionsOfCase(tx, MERCHANT, CASE)), records);
  const latest = await db.transaction((tx) => latestDecisions(tx, MERCHANT, [CASE]));
  assert.deepEqual(
    [latest.get(CASE)!.number, latest.get(CASE)!.known, latest.get(CASE)!.about],
    [2, ["Three."], ACCOUNT.about],
  );

  const { hourDrawn: _, spread: __, about: ___, knowsFailure: ____, days, hours, even: now, ...others } = ACCOUNT;
  const { asMany: _____, ...even } = now!;
  const nothing = { about: { wait: [], rule: [], limit: [], tally: [] }, knowsFailure: false };
  // The stored value of an hour is not that of a plan.
  const restored = {
    ...ACCOUNT,
    ...nothing,
    hours: [{ at: at(6), chance: 0.3, worth: null }],
    even: { ...even, asMany: null },
  };
  const former = { ...others, days, even, hours: [{ at: at(6), chance: 0.3, worth: 0.2 }] };
  const asNumbers = (_key: string, value: unknown) =>
    typeof value === "string" && /^2026-/.test(value) ? Date.parse(value) : value;
  const asTexts = {
    ...former,
    days: `${at(4).getTime()} 0.1234 -0.02 ${at(5).getTime() + 169_551} 0 1`,
    hours: `${at(6).getTime()} 0.3 0.2`,
    even: {
      ...even,
      tries: `${at(4).getTime()} ${at(8).getTime()}`,
      plan: [5, 6, 7].map((day) => at(day).getTime()).join(" "),
    },
  };
  for (const kept of [former, asTexts]) {
    await db.run(OVERWRITE, [MERCHANT, JSON.stringify(kept, asNumbers)]);
    const [first] = await db.transaction((tx) => decisionsOfCase(tx, MERCHANT, CASE));
    assert.deepEqual(first!.account, { ...restored, hourDrawn: false, spread: false });
  }
  const inMinutes = (moment: Date) => moment.getTime() / MINUTE_MS;
  const inOneText = {
    ...others,
    hourDrawn: false,
    spread: true,
    numbers: `${inMinutes(at(4))} 1000 500/${inMinutes(at(6))} 3000 2000/${inMinutes(at(4))}/${inMinutes(at(5))}/5000 4000 6000 5500`,
  };
  await db.run(OVERWRITE, [MERCHANT, JSON.stringify(inOneText)]);
  const [kept] = await db.transaction((tx) => decisionsOfCase(tx, MERCHANT, CASE));
  const { account } = kept!;
  assert.deepEqual([account.days, account.hours], [[{ at: at(4), chance: 0.1, worth: 0.05 }], restored.hours]);
  assert.deepEqual(account.even, { ...even, tries: [at(4)], plan: [at(5)], asMany: null });
  await db.run(OVERWRITE, [MERCHANT, JSON.stringify({ ...asTexts, days: "", even: null }, asNumbers)]);
  const [empty] = await db.transaction((tx) => decisionsOfCase(tx, MERCHANT, CASE));
  assert.deepEqual(empty!.account, { ...restored, days: [], even: null, hourDrawn: false, spread: false });
});

test("topics of an earlier version's sentences are inferred from their words", async () => {
  const { db } = database;
  await db.transaction((tx) => insertDecisions(tx, MERCHANT, [{ ...record(1, ACCOUNT), caseId: FORMER_CASE }]));
  const reasons = [
    "The last try failed: there was not enough money (code 51).",
    "With a decline the bank advises to try again after 2 days, and no try comes sooner (Mastercard, 2026).",
    'How payments by "paypal" are tried again is the merchant\'s to say.',
    "After this one, 7 more tries may be made before the window ends on Mon 4 May.",
    "After this one, 1 more try may be made before the window ends on Mon 4 May. SEPA debits allow 2 more tries (EPC, 2025).",
  ];
  const known = [
    reasons[0]!,
    "2 tries failed before those that follow.",
    "A try failed on Mon 2 March, 09:00 (Europe/Berlin).",
    "1 try of another invoice counts for this card, declined or not answered.",
    "Visa allows at most 15 tries in 30 days (Visa, 2025). Counted so far: 4.",
    "Bacs debits allow tries within a month (Pay.UK, 2024). Tries left by this rule: any number.",
    "7 retries of the budget are left.",
  ];
  const { about: _, knowsFailure: __, ...former } = toStoredAccount({ ...ACCOUNT, reasons, known });
  await db.run(OVERWRITE, [MERCHANT, JSON.stringify(former)]);
  const about = { wait: [1], rule: [2, 4], limit: [3, 4, 5], tally: [1] };
  const [kept] = await db.transaction((tx) => decisionsOfCase(tx, MERCHANT, FORMER_CASE));
  assert.deepEqual([kept!.account.about, kept!.account.knowsFailure], [about, true]);
  const latest = await db.transaction((tx) => latestDecisions(tx, MERCHANT, [FORMER_CASE]));
  assert.deepEqual(latest.get(FORMER_CASE)!.about, { ...about, wait: [], rule: [] });
});

test("a payment method is named in current terms when an earlier version stored the gateway's name", async () => {
  const { db } = database;
  const said = (way: string) => [`EUR 49.00 is due, to be paid by ${way}. Local time is that of UTC.`];
  const former = { ...record(1, { ...ACCOUNT, known: said("sepa_debit") }), caseId: LABELED_CASE };
  await db.transaction((tx) => insertDecisions(tx, MERCHANT, [former]));
  const [kept] = await db.transaction((tx) => decisionsOfCase(tx, MERCHANT, LABELED_CASE));
  const latest = await db.transaction((tx) => latestDecisions(tx, MERCHANT, [LABELED_CASE]));
  assert.deepEqual([kept!.account.known, latest.get(LABELED_CASE)!.known], [said("SEPA debit"), said("SEPA debit")]);
});

test("a long case is explained by its first and last decisions, and by the first and last of each kind and action; a short one by all", async () => {
  const { db } = database;
  const wait = { caseId: LONG_CASE, kind: "wait", idealTime: null, chance: null, propensity: null } as const;
  const decided = Array.from({ length: 600 }, (_, n): DecisionRecord => {
    const made = record(n + 1, { ...ACCOUNT, even: null, days: [], hours: [] });
    if (n + 1 === 100) return { ...made, ...wait, kind: "card_change", actionId: ACTIONS[0], idealTime: at(5) };
    if (n + 1 >= 150 && n + 1 <= 250) return { ...made, caseId: LONG_CASE, actionId: ACTIONS[1] };
    return { ...made, ...wait };
  });
  await db.transaction((tx) => insertDecisions(tx, MERCHANT, decided));
  const told = await explanatoryDecisions(db, MERCHANT, [LABELED_CASE, LONG_CASE]);
  const of = (caseId: string) => told.filter((each) => each.caseId === caseId);
  assert.deepEqual(of(LABELED_CASE), await decisionsOfCase(db, MERCHANT, LABELED_CASE));
  const numbers = of(LONG_CASE).map(({ number }) => number);
  const span = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => from + n);
  assert.deepEqual(numbers, [...span(1, 20), 100, 150, 250, ...span(401, 600)]);
});
