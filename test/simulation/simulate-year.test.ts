import assert from "node:assert/strict";
import { test } from "node:test";
import { createTestDatabase } from "../database.ts";
import { findViolations, summarizeYear } from "./invariant-checks.ts";
import { type Scenario, simulateYear } from "./simulate-year.ts";

async function checkYear(scenario: Scenario, say: (line: string) => void) {
  const database = await createTestDatabase();
  try {
    const year = await simulateYear(database.address, scenario);
    const said = findViolations(year);
    say(summarizeYear(year));
    assert.equal(said.join("\n"), "");
  } finally {
    await database.drop();
  }
}

test("every invariant holds through a year of crashes, outages and disorder", async (t) => {
  const scenario = { seed: 1, customers: 6, days: 365, pushTransactions: true, engine: "learned" } as const;
  await checkYear(scenario, (line) => t.diagnostic(line));
});

test("every invariant holds through a year in which only subscriptions and invoices are pushed", async (t) => {
  const scenario = { seed: 2, customers: 4, days: 365, pushTransactions: false, engine: "learned" } as const;
  await checkYear(scenario, (line) => t.diagnostic(line));
});

test("every invariant holds through months in which the static engine decides", async (t) => {
  const scenario = { seed: 3, customers: 5, days: 60, pushTransactions: true, engine: "static" } as const;
  await checkYear(scenario, (line) => t.diagnostic(line));
});
