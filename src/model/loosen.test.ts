import assert from "node:assert/strict";
import { test } from "node:test";
import { newBelief, newPerson } from "./belief.ts";
import { GROUP_OF, GROUPS, NO_GROUP } from "./groups.ts";
import { AT, COLUMN_EDGES, dayPartColumn, ROWS_OF, rowStart, STANDINGS } from "./layout.ts";
import { learnOutcome } from "./learn.ts";
import { type Learned, newLearned } from "./learned.ts";
import { strain } from "./loosen.ts";

const HOUR = 3_600_000;
const FAILED_AT = Date.parse("2026-03-12T00:00:00Z");

/** Tries of two networks' cards by day and by night, of which those are approved that `isGood` says. */
function taught(isGood: (network: string, byDay: boolean, n: number) => boolean, tries: number): Learned {
  const learned = newLearned();
  for (let n = 0; n < tries; n++) {
    const [network, byDay] = [n % 2 === 0 ? "visa" : "amex", n % 4 < 2];
    const person = newPerson(learned, "SE");
    const facts = { reason: "GENERIC", code: "05", standing: STANDINGS.between, codeName: AT.name } as const;
    const of = { names: new Int32Array(0), rows: Int32Array.of(rowStart("network", network)) };
    const belief = newBelief(learned, person, { ...facts, ...of, offsetMs: 0, failedAt: FAILED_AT, recent: [] });
    const at = FAILED_AT + (3 * 24 + (byDay ? 13 : 1)) * HOUR;
    learnOutcome(learned, person, belief, at, isGood(network, byDay, n) ? null : "GENERIC");
  }
  return learned;
}

const start = newLearned();
const variancesOf = ({ variance }: Learned, columns: number) => {
  const { start: first } = ROWS_OF.network;
  return [...variance.subarray(first + COLUMN_EDGES[columns]!, first + COLUMN_EDGES[columns + 1]!)];
};

test("where one network's cards go well by day and another's by night, the hours of all networks are loosened, and their weekdays are not", () => {
  const learned = taught((network, byDay) => (network === "visa") === byDay, 600);
  const [before] = variancesOf(start, 0);
  const unmet = rowStart("network", "elo");
  assert.ok(learned.variance[unmet]! > before!, "what is learned of two holds for a third one");
  assert.ok(learned.variance[unmet + COLUMN_EDGES[1]!]! <= before!);
  const gain = (network: string) => {
    const row = rowStart("network", network);
    return learned.mean[row + dayPartColumn(13)]! - learned.mean[row + dayPartColumn(1)]!;
  };
  assert.ok(gain("visa") > 0.5 && gain("amex") < -0.5, `${gain("visa")} and ${gain("amex")}`);
});

test("where outcomes have nothing to do with what is known, next to nothing is loosened", () => {
  let state = 7;
  const learned = taught(() => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32 < 0.3;
  }, 4000);
  const loosened = GROUPS.filter(({ from, width, rows }) => {
    const last = from + width - 1 + (rows - 1) * COLUMN_EDGES.at(-1)!;
    return learned.variance[from]! > start.variance[from]! || learned.variance[last]! > start.variance[last]!;
  });
  assert.ok(loosened.length <= 2, `${loosened.length} of ${GROUPS.length}`);
});

test("a group is never loosened beyond its limit, and weights of no group never", () => {
  const learned = newLearned();
  const weight = rowStart("network", "visa");
  const group = GROUPS[GROUP_OF[weight]!]!;
  for (const index of [weight, AT.name]) {
    learned.mean[index] = 0.5;
    for (let n = 0; n < 1000; n++) strain(learned, index, 1);
  }
  assert.equal(learned.variance[weight], group.varianceMax);
  assert.equal(GROUP_OF[AT.name], NO_GROUP);
  assert.equal(learned.variance[AT.name], start.variance[AT.name]);
});

test("groups do not overlap, and each row is in six of them", () => {
  const members = GROUPS.map(() => 0);
  for (const group of GROUP_OF) if (group !== NO_GROUP) members[group]!++;
  assert.deepEqual(
    members,
    GROUPS.map(({ width, rows }) => width * rows),
  );
  const row = rowStart("issuer", "a bank");
  assert.equal(new Set(GROUP_OF.subarray(row, row + COLUMN_EDGES.at(-1)!)).size, 6);
});
