import assert from "node:assert/strict";
import { test } from "node:test";
import { testDatabase } from "../database.ts";
import { simulate } from "./simulate.ts";
import { complaints, figuresOf } from "./verdict.ts";

async function liveThrough(seed: number, customers: number, pushTransactions: boolean, say: (line: string) => void) {
  const database = await testDatabase();
  try {
    const year = await simulate(database.address, { seed, customers, days: 365, pushTransactions });
    const said = complaints(year);
    say(figuresOf(year));
    assert.equal(said.join("\n"), "");
  } finally {
    await database.drop();
  }
}

test("every promise holds through a year of crashes, outages and disorder", async (t) => {
  await liveThrough(1, 20, true, (line) => t.diagnostic(line));
});

test("every promise holds through a year in which only subscriptions and invoices are pushed", async (t) => {
  await liveThrough(2, 10, false, (line) => t.diagnostic(line));
});
