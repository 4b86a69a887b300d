import assert from "node:assert/strict";
import { test } from "node:test";
import { type BankAttempt, downAt, upAgainAt } from "./outage.ts";

const at = (time: string) => new Date(`2026-03-02T${time}:00Z`);
const attempt = (customer: string, time: string, isDown = true): BankAttempt => ({ customer, at: at(time), isDown });

test("a bank is down when half of its latest attempts found it so, of two customers or more", () => {
  const two = [attempt("b", "12:00"), attempt("a", "06:00")];
  assert.deepEqual(downAt(two), at("12:00"));
  assert.deepEqual(downAt([...two, attempt("c", "13:00", false), attempt("d", "13:00", false)]), at("12:00"));
  assert.equal(upAgainAt(at("12:00")), at("15:00").getTime());
});

test("one customer's card is no outage, and answers of another kind end one", () => {
  assert.equal(downAt([]), null);
  assert.equal(downAt([attempt("a", "06:00")]), null);
  assert.equal(downAt([attempt("a", "06:00"), attempt("a", "07:00"), attempt("a", "08:00")]), null);
  const answers = ["c", "d", "e"].map((customer) => attempt(customer, "13:00", false));
  assert.equal(downAt([attempt("a", "11:00"), attempt("b", "12:00"), ...answers]), null);
});
