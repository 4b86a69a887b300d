import assert from "node:assert/strict";
import { test } from "node:test";
import { findDownTime, findRouteDownTime, type OutageEvidence, outageWaitEnd, routeOf } from "./detect-outage.ts";

const at = (time: string) => new Date(`2026-03-02T${time}:00Z`);
const buildAttempt = (customer: string, time: string, isDown = true, route: string | null = null): OutageEvidence => ({
  customer,
  at: at(time),
  route,
  isDown,
});
const buildAnswers = (time: string, ...customers: string[]) =>
  customers.map((customer) => buildAttempt(customer, time, false));
const noon = at("12:00");
const hoursLater = (hours: number) => new Date(noon.getTime() + hours * 3_600_000);

test("a bank is down when most of its latest attempts failed so, for two customers or more", () => {
  const two = [buildAttempt("b", "12:00"), buildAttempt("a", "11:00")];
  assert.deepEqual(findDownTime(two, noon), noon);
  const most = [...two, buildAttempt("e", "11:30"), buildAttempt("f", "11:40"), ...buildAnswers("11:50", "c", "d")];
  assert.deepEqual(findDownTime(most, noon), noon);
  assert.equal(findDownTime([...most, ...buildAnswers("11:55", "g", "h")], noon), null);
  assert.equal(outageWaitEnd(noon), at("15:00").getTime());
});

test("one customer's card is no outage, and other answers end one", () => {
  assert.equal(findDownTime([], noon), null);
  assert.equal(findDownTime([buildAttempt("a", "11:00")], noon), null);
  assert.equal(
    findDownTime([buildAttempt("a", "09:00"), buildAttempt("a", "10:00"), buildAttempt("a", "11:00")], noon),
    null,
  );
  assert.equal(
    findDownTime([buildAttempt("a", "10:00"), buildAttempt("b", "11:00"), ...buildAnswers("12:00", "c", "d")], noon),
    null,
  );
});

test("a customer counts by the latest attempt only", () => {
  const others = [buildAttempt("b", "11:10"), buildAttempt("c", "11:20")];
  assert.deepEqual(
    findDownTime([...others, buildAttempt("a", "10:00", false), buildAttempt("a", "11:50")], noon),
    at("11:50"),
  );
  const turned = [...others, buildAttempt("d", "11:05"), ...buildAnswers("11:30", "b"), ...buildAnswers("11:40", "c")];
  assert.equal(findDownTime(turned, noon), null);
});

test("many attempts of one customer hide no other customer's", () => {
  const others = [buildAttempt("a", "11:10"), buildAttempt("b", "11:15"), buildAttempt("c", "11:20")];
  const many = Array.from({ length: 20 }, (_, n) => buildAttempt("guest", `11:${30 + n}`, false));
  assert.deepEqual(findDownTime([...others, ...many], noon), at("11:20"));
});

test("an outage fades, sooner when it has less evidence", () => {
  const two = [buildAttempt("a", "12:00"), buildAttempt("b", "12:00")];
  const four = [...two, buildAttempt("c", "12:00"), buildAttempt("d", "12:00")];
  assert.deepEqual(findDownTime(four, hoursLater(6)), noon);
  assert.equal(findDownTime(two, hoursLater(6)), null);
  assert.equal(findDownTime(four, hoursLater(12)), null);
});

test("one unreachable bank in four attempts is no outage, and five in eight are one", () => {
  const many = (count: number) =>
    Array.from({ length: 16 }, (_, n) => buildAttempt(`${n}`, `11:${10 + n}`, (n * 3) % 8 < count));
  assert.equal(findDownTime(many(2), noon), null);
  assert.ok(findDownTime(many(5), noon));
});

test("only the latest sixteen attempts decide whether a bank is down", () => {
  const early = Array.from({ length: 40 }, (_, n) => buildAttempt(`early ${n}`, "08:00"));
  const late = Array.from({ length: 16 }, (_, n) => buildAttempt(`late ${n}`, "11:00", n >= 13));
  assert.equal(findDownTime([...early, ...late], noon), null);
  assert.ok(findDownTime([...early, ...late.slice(12)], noon));
});

test("a route is down when its own attempts show it, and every route when the attempts on all show it", () => {
  const down = ["a", "b", "c"].map((customer) => buildAttempt(customer, "11:30", true, "visa"));
  const well = ["d", "e", "f", "g"].map((customer) => buildAttempt(customer, "11:40", false, "amex"));
  assert.deepEqual(findRouteDownTime([...down, ...well], "visa", noon), at("11:30"));
  assert.equal(findRouteDownTime([...down, ...well], "amex", noon), null);
  assert.equal(findRouteDownTime([...down, ...well], null, noon), null);
  assert.deepEqual(
    findRouteDownTime(down, "amex", noon),
    at("11:30"),
    "of it nothing is known, and all others are down",
  );
});

test("an attempt without reported details has no route", () => {
  assert.equal(routeOf({}), null);
  assert.equal(routeOf({ paymentGatewayName: "Adyen", cardCountry: "DE" }), "Adyen|||DE");
});
