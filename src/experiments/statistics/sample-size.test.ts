import assert from "node:assert/strict";
import { test } from "node:test";
import type { CellTotals } from "../../domain/experiment.ts";
import { ALPHA_BY_CHECK } from "./arm-checks.ts";
import { sequenceHalfWidth, varianceFor } from "./confidence-sequence.ts";
import { planInvoiceCount, WIDEST_HISTORY } from "./sample-size.ts";
import { countCustomer, emptyTally, recoveryRateOf } from "./tally.ts";

function createRandom(seed: number) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Adds customers with one to three invoices each, of very different amounts, that are nearly all paid or nearly all lost. */
function addCustomers(invoices: number, random: () => number, isMoney: boolean, tally = emptyTally()): CellTotals {
  for (let n = 0; n < invoices; ) {
    const chance = random() < 0.6 ? 0.95 : 0.05;
    let [due, got] = [0, 0];
    for (let left = 1 + Math.floor(random() * 3); left > 0 && n < invoices; left--, n++) {
      const amount = isMoney ? Math.round(100 * Math.exp(1.2 * (random() + random() + random() - 1.5))) : 1;
      const isPaid = random() < chance;
      countCustomer(tally, due, got, amount, isPaid ? amount : 0);
      due += amount;
      got += isPaid ? amount : 0;
    }
  }
  return tally;
}

test("the planned number gives the planned width in simulated experiments, for any share, by count and by money", () => {
  const random = createRandom(7);
  for (const isMoney of [false, true])
    for (const [share, margin] of [
      [0.5, 0.03],
      [0.9, 0.03],
      [0.7, 0.05],
    ] as const) {
      const history = addCustomers(20_000, random, isMoney);
      const planned = planInvoiceCount(history, 20_000, { share, margin })!;
      const widths = Array.from({ length: 20 }, () => {
        const [treated, untreated] = [share, 1 - share].map((part) =>
          recoveryRateOf(addCustomers(Math.round(planned * part), random, isMoney)),
        );
        return sequenceHalfWidth(treated!.variance + untreated!.variance, margin, ALPHA_BY_CHECK.difference);
      });
      const mean = widths.reduce((sum, width) => sum + width, 0) / widths.length;
      assert.ok(Math.abs(mean / margin - 1) < 0.02, `${isMoney} ${share} ${margin}: ${mean}`);
    }
});

test("the planned number follows the known variance of independent invoices", () => {
  for (const share of [0.5, 0.8]) {
    const variance = 0.25 / (share * (1 - share));
    const exact = variance / varianceFor(0.03, 0.03, ALPHA_BY_CHECK.difference);
    const planned = planInvoiceCount(WIDEST_HISTORY.tally, WIDEST_HISTORY.invoices, { share, margin: 0.03 })!;
    assert.ok(Math.abs(planned / exact - 1) < 0.01, `${share}: ${planned} and ${exact}`);
  }
});

test("a history that mixes measures scales all its invoices", () => {
  const { tally } = WIDEST_HISTORY;
  const plan = { share: 0.5, margin: 0.03 };
  const [alone, mixed] = [1000, 1500].map((invoices) => planInvoiceCount(tally, invoices, plan)!);
  assert.ok(Math.abs(mixed! / alone! - 1.5) < 0.001);
});

test("a history with too few customers gives no number, and a small arm needs 100 customers", () => {
  const few = addCustomers(120, createRandom(1), false);
  assert.equal(planInvoiceCount(few, 120, { share: 0.5, margin: 0.03 }), null);
  const { tally, invoices } = WIDEST_HISTORY;
  assert.equal(planInvoiceCount(tally, invoices, { share: 0.99, margin: 0.5 }), 10_000);
});
