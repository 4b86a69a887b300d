import assert from "node:assert/strict";
import { test } from "node:test";
import { testDatabase } from "../database.ts";
import { type Scenario, simulate } from "./simulate.ts";
import { complaints, figuresOf } from "./verdict.ts";

async function liveThrough(scenario: Scenario, say: (line: string) => void) {
  const database = await testDatabase();
  try {
    const year = await simulate(database.address, scenario);
    const said = complaints(year);
    say(figuresOf(year));
    assert.equal(said.join("\n"), "");
  } finally {
    await database.drop();
  }
}

test("every promise holds through a year of crashes, outages and disorder", async (t) => {
  const scenario = { seed: 1, customers: 8, days: 365, pushTransactions: true, engine: "learned" } as const;
  await liveThrough(scenario, (line) => t.diagnostic(line));
});

test("every promise holds through a year in which only subscriptions and invoices are pushed", async (t) => {
  const scenario = { seed: 2, customers: 4, days: 365, pushTransactions: false, engine: "learned" } as const;
  await liveThrough(scenario, (line) => t.diagnostic(line));
});

test("every promise holds through months in which the static engine decides", async (t) => {
  const scenario = { seed: 3, customers: 5, days: 60, pushTransactions: true, engine: "static" } as const;
  await liveThrough(scenario, (line) => t.diagnostic(line));
});
