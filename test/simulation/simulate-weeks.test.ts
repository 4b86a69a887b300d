import { test } from "node:test";
import { checkYear } from "./check-year.fixture.ts";

test("every invariant holds through weeks in which the static engine decides", (t) =>
  checkYear(t, { seed: 3, customers: 4, days: 35, pushTransactions: true, engine: "static" }));

test("every invariant holds through weeks in which the learned engine decides", (t) =>
  checkYear(t, { seed: 4, customers: 3, days: 45, pushTransactions: true, engine: "learned" }));
