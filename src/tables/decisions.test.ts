import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import type { DecisionAccount, DecisionRecord } from "../domain/decision.ts";
import { prepared } from "../postgres/database.ts";
import { decisionsOfCase, explanatoryDecisions, insertDecisions, latestDecisions } from "./decisions.ts";

const MERCHANT = "0198a000-0000-7000-8000-000000000001";
const CASE = "0198a000-0000-7000-8000-00000000000c";
const FORMER_CASE = "0198a000-0000-7000-8000-00000000000f";
const LONG_CASE = "0198a000-0000-7000-8000-000000000010";
const ACTIONS = ["0198a000-0000-7000-8000-0000000000a1", "0198a000-0000-7000-8000-0000000000a2"] as const;
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
});

test("a decision of a version before 0.2.0 keeps its sentences and has no figures", async () => {
  const { db } = database;
  await db.transaction((tx) => insertDecisions(tx, MERCHANT, [{ ...record(1, ACCOUNT), caseId: FORMER_CASE }]));
  const { hourDrawn: _, spread: __, about: ___, knowsFailure: ____, ...former } = ACCOUNT;
  await db.run(OVERWRITE, [MERCHANT, JSON.stringify(former)]);
  const [stored] = await db.transaction((tx) => decisionsOfCase(tx, MERCHANT, FORMER_CASE));
  const about = { wait: [], rule: [], limit: [], tally: [] };
  const noFigures = { about, knowsFailure: false, hourDrawn: false, spread: false, days: [], hours: [], even: null };
  assert.deepEqual(stored!.account, { ...ACCOUNT, ...noFigures });
  const latest = await db.transaction((tx) => latestDecisions(tx, MERCHANT, [FORMER_CASE]));
  assert.deepEqual(latest.get(FORMER_CASE)!.about, about);
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
  const told = await explanatoryDecisions(db, MERCHANT, [FORMER_CASE, LONG_CASE]);
  const of = (caseId: string) => told.filter((each) => each.caseId === caseId);
  assert.deepEqual(of(FORMER_CASE), await decisionsOfCase(db, MERCHANT, FORMER_CASE));
  const numbers = of(LONG_CASE).map(({ number }) => number);
  const span = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => from + n);
  assert.deepEqual(numbers, [...span(1, 20), 100, 150, 250, ...span(401, 600)]);
});
