import { test } from "node:test";
import { assertCoverage } from "./confidence-intervals.fixture.ts";

test("200 intervals cover the truth equally often when hardly anything or nearly everything is recovered", () => {
  // A correct 95% interval covers fewer than 182 of 200 with a probability of 1%. Plus and minus two errors would cover 1% in 167
  // of them.
  assertCoverage(200, 182);
});
