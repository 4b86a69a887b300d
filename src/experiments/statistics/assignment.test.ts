import assert from "node:assert/strict";
import { test } from "node:test";
import { assignArm } from "./assignment.ts";

const customers = Array.from({ length: 20_000 }, (_, n) => `cus_${n}`);
const shareOf = (flags: readonly boolean[]) => flags.filter(Boolean).length / flags.length;
/** Four standard deviations of a share of one half of 20,000. */
const TOLERANCE = 0.015;

// Another hash in a new version would move the customers of a running experiment.
test("the salt and the customer alone determine the arm and the half, in every version", () => {
  const assignments = (salt: string) =>
    customers
      .slice(0, 12)
      .map((id) => assignArm({ salt, share: 0.5 }, id))
      .map(({ arm, half }) => `${arm[0]}${half}`)
      .join(" ");
  assert.equal(assignments("s1"), "m2 m1 m1 d1 m1 m2 m1 m1 m1 d1 d2 m2");
  assert.equal(assignments("s2"), "d1 m1 m1 d1 m2 m1 m2 d1 d1 m2 d2 d1");
});

test("the arm gets the configured share of customers, and each half gets half of them", () => {
  for (const share of [0.5, 0.9, 0.1]) {
    const assigned = customers.map((id) => assignArm({ salt: "s1", share }, id));
    assert.ok(Math.abs(shareOf(assigned.map(({ arm }) => arm === "dunlin")) - share) < TOLERANCE);
    for (const arm of ["dunlin", "merchant"] as const) {
      const halves = assigned.filter((each) => each.arm === arm).map(({ half }) => half === 1);
      assert.ok(Math.abs(shareOf(halves) - 0.5) < 4 * Math.sqrt(0.25 / halves.length));
    }
  }
});

test("the arms of two experiments are independent", () => {
  const same = customers.map(
    (id) => assignArm({ salt: "s1", share: 0.5 }, id).arm === assignArm({ salt: "s2", share: 0.5 }, id).arm,
  );
  assert.ok(Math.abs(shareOf(same) - 0.5) < TOLERANCE);
});

test("no customer leaves an arm when its share grows", () => {
  for (const id of customers.slice(0, 2000))
    if (assignArm({ salt: "s1", share: 0.1 }, id).arm === "dunlin")
      assert.equal(assignArm({ salt: "s1", share: 0.6 }, id).arm, "dunlin");
});
