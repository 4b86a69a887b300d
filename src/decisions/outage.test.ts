import assert from "node:assert/strict";
import { test } from "node:test";
import { downAt, type OthersAttempt, upAgainAt, wayDownAt, wayOf } from "./outage.ts";

const at = (time: string) => new Date(`2026-03-02T${time}:00Z`);
const attempt = (customer: string, time: string, isDown = true, way: string | null = null): OthersAttempt => ({
  customer,
  at: at(time),
  way,
  isDown,
});
const answers = (time: string, ...customers: string[]) => customers.map((customer) => attempt(customer, time, false));
const noon = at("12:00");
const hoursLater = (hours: number) => new Date(noon.getTime() + hours * 3_600_000);

test("a bank is down when most of its latest attempts found it so, of two customers or more", () => {
  const two = [attempt("b", "12:00"), attempt("a", "11:00")];
  assert.deepEqual(downAt(two, noon), noon);
  const most = [...two, attempt("e", "11:30"), attempt("f", "11:40"), ...answers("11:50", "c", "d")];
  assert.deepEqual(downAt(most, noon), noon);
  assert.equal(downAt([...most, ...answers("11:55", "g", "h")], noon), null);
  assert.equal(upAgainAt(noon), at("15:00").getTime());
});

test("one customer's card is no outage, and answers of another kind end one", () => {
  assert.equal(downAt([], noon), null);
  assert.equal(downAt([attempt("a", "11:00")], noon), null);
  assert.equal(downAt([attempt("a", "09:00"), attempt("a", "10:00"), attempt("a", "11:00")], noon), null);
  assert.equal(downAt([attempt("a", "10:00"), attempt("b", "11:00"), ...answers("12:00", "c", "d")], noon), null);
});

test("a customer counts by the latest attempt alone", () => {
  const others = [attempt("b", "11:10"), attempt("c", "11:20")];
  assert.deepEqual(downAt([...others, attempt("a", "10:00", false), attempt("a", "11:50")], noon), at("11:50"));
  const turned = [...others, attempt("d", "11:05"), ...answers("11:30", "b"), ...answers("11:40", "c")];
  assert.equal(downAt(turned, noon), null);
});

test("a customer's many attempts hide nobody else's", () => {
  const others = [attempt("a", "11:10"), attempt("b", "11:15"), attempt("c", "11:20")];
  const many = Array.from({ length: 20 }, (_, n) => attempt("guest", `11:${30 + n}`, false));
  assert.deepEqual(downAt([...others, ...many], noon), at("11:20"));
});

test("what was seen fades, sooner the less was seen", () => {
  const two = [attempt("a", "12:00"), attempt("b", "12:00")];
  const four = [...two, attempt("c", "12:00"), attempt("d", "12:00")];
  assert.deepEqual(downAt(four, hoursLater(6)), noon);
  assert.equal(downAt(two, hoursLater(6)), null);
  assert.equal(downAt(four, hoursLater(12)), null);
});

test("where one attempt in four always finds no bank there is no outage, and where five of eight do there is one", () => {
  const many = (of: number) => Array.from({ length: 16 }, (_, n) => attempt(`${n}`, `11:${10 + n}`, (n * 3) % 8 < of));
  assert.equal(downAt(many(2), noon), null);
  assert.ok(downAt(many(5), noon));
});

test("only the latest sixteen attempts say whether a bank is down", () => {
  const early = Array.from({ length: 40 }, (_, n) => attempt(`early ${n}`, "08:00"));
  const late = Array.from({ length: 16 }, (_, n) => attempt(`late ${n}`, "11:00", n >= 13));
  assert.equal(downAt([...early, ...late], noon), null);
  assert.ok(downAt([...early, ...late.slice(12)], noon));
});

test("a way is down when its own attempts say so, and every way when those of all do", () => {
  const down = ["a", "b", "c"].map((customer) => attempt(customer, "11:30", true, "visa"));
  const well = ["d", "e", "f", "g"].map((customer) => attempt(customer, "11:40", false, "amex"));
  assert.deepEqual(wayDownAt([...down, ...well], "visa", noon), at("11:30"));
  assert.equal(wayDownAt([...down, ...well], "amex", noon), null);
  assert.equal(wayDownAt([...down, ...well], null, noon), null);
  assert.deepEqual(wayDownAt(down, "amex", noon), at("11:30"), "of it nothing is known, and all others are down");
});

test("an attempt of which nothing is known is on no way", () => {
  assert.equal(wayOf({}), null);
  assert.equal(wayOf({ paymentGatewayName: "Adyen", cardCountry: "DE" }), "Adyen|||DE");
});
