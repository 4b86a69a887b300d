import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { withTables } from "../../bench/capacity/guide-tables.ts";
import { ASSUMPTIONS, COSTS, LIFE } from "../../bench/capacity/measured.ts";
import { recordsForOpenCases, size } from "../../bench/capacity/sizing.ts";

const GUIDE = readFileSync(join(import.meta.dirname, "../../docs/guides/capacity.md"), "utf8");

test("the guide's tables follow from the measured costs: run `npm run bench -- capacity --tables`", () => {
  assert.equal(GUIDE, withTables(GUIDE));
});

test("the guide's formulas give the rows of its table", () => {
  const { failedShare: f, utilization, peakFactor, keptDays } = ASSUMPTIONS;
  const { paidInvoice, unpaidInvoice, attempt, decision, loneDecision, step, delivery, learned } = COSTS;
  const { attempts, decisions, steps, events, openDays } = LIFE;
  const row = size(1_000, COSTS, LIFE, ASSUMPTIONS);
  const payments = 1_000 / (2 * (1 - f) + 2 * attempts * f);
  const failed = payments * f;
  const cores = (field: "serviceMs" | "databaseMs") => {
    const pair = paidInvoice[field] + attempt[field];
    return {
      api: payments * pair + failed * (unpaidInvoice[field] - paidInvoice[field] + (attempts - 1) * pair),
      decide: failed * (decisions * decision[field] + (steps - decisions) * step[field]),
      small: failed * steps * (loneDecision[field] - decision[field]),
      rest: failed * (events * delivery[field] + (attempts - 1) * learned[field]),
    };
  };
  const inCores = (ms: number) => ms / 1_000 / utilization;
  const near = (actual: number, expected: number) => assert.ok(Math.abs(actual / expected - 1) < 1e-9, `${actual}`);
  const service = cores("serviceMs");
  near(row.apiCores, inCores(service.api));
  near(row.decideCores[0], inCores(service.decide));
  near(row.decideCores[1], inCores(service.decide + service.small));
  const { api, decide, small, rest } = cores("databaseMs");
  near(
    row.databaseCores[1],
    inCores(api + decide + small + rest) + (row.processes * ASSUMPTIONS.idle.databaseMs) / 1_000,
  );
  near(row.openCases, (failed / peakFactor) * openDays * 86_400);
  const paidBytes = paidInvoice.diskBytes + attempt.diskBytes;
  const kept = (86_400 * keptDays) / peakFactor;
  near(row.diskBytes, kept * ((payments - failed) * paidBytes + failed * LIFE.diskBytes));
  const billion = size(recordsForOpenCases(1e9, COSTS, LIFE, ASSUMPTIONS), COSTS, LIFE, ASSUMPTIONS);
  assert.ok(Math.abs(billion.openCases / 1e9 - 1) < 1e-4);
});

test("the guide's prose names the numbers of a case's life and the assumptions", () => {
  const { attempts, decisions, steps, events, openDays, diskBytes } = LIFE;
  for (const words of [
    `${attempts} attempts, ${decisions} decisions, ${steps} steps and ${events} webhooks`,
    `open for ${openDays} days`,
    `leaves ${diskBytes / 1_000} kB`,
    `${ASSUMPTIONS.server.cores} cores and ${ASSUMPTIONS.server.diskBytes / 1e12} TB`,
    `keep ${100 * ASSUMPTIONS.utilization}% of each core busy`,
    `cases for ${ASSUMPTIONS.keptDays} days`,
    `${ASSUMPTIONS.connectionsPerProcess} for each process`,
  ])
    assert.ok(GUIDE.includes(words), words);
});
