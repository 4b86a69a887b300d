import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { createTestDatabase } from "../database.ts";
import { findViolations, summarizeYear } from "./invariant-checks.ts";
import { type Scenario, simulateYear } from "./simulate-year.ts";

/** Simulates the scenario in a database of its own. Fails with the list of what broke an invariant. */
export async function checkYear(test: TestContext, scenario: Scenario) {
  const database = await createTestDatabase();
  try {
    const year = await simulateYear(database.address, scenario);
    const violations = findViolations(year);
    test.diagnostic(summarizeYear(year));
    assert.equal(violations.join("\n"), "");
  } finally {
    await database.drop();
  }
}
