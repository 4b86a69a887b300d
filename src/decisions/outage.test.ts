import assert from "node:assert/strict";
import { test } from "node:test";
import { downAt, upAgainAt } from "./outage.ts";

const at = (time: string) => new Date(`2026-03-02T${time}:00Z`);

test("a bank is down when two customers found it so within six hours, since the latest of them", () => {
  const two = [
    { customer: "b", at: at("12:00") },
    { customer: "a", at: at("06:00") },
  ];
  assert.deepEqual(downAt(two), at("12:00"));
  assert.equal(upAgainAt(at("12:00")), at("15:00").getTime());
});

test("one customer's card, or two on different days, are no outage", () => {
  assert.equal(downAt([]), null);
  assert.equal(downAt([{ customer: "a", at: at("06:00") }]), null);
  const often = [at("06:00"), at("07:00"), at("08:00")].map((each) => ({ customer: "a", at: each }));
  assert.equal(downAt(often), null);
  assert.equal(downAt([...often, { customer: "b", at: at("14:01") }]), null);
});
