import { test } from "node:test";
import { checkYear } from "./check-year.fixture.ts";

test("every invariant holds through a year of crashes, outages and disorder", (t) =>
  checkYear(t, { seed: 1, customers: 6, days: 365, pushTransactions: true, engine: "learned" }));

test("every invariant holds through a year in which only subscriptions and invoices are pushed", (t) =>
  checkYear(t, { seed: 2, customers: 4, days: 365, pushTransactions: false, engine: "learned" }));
