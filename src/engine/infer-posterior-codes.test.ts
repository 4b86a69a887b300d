import assert from "node:assert/strict";
import { test } from "node:test";
import { buildHistory, codes, failedCharge, newModel } from "./infer-posterior.fixture.ts";
import { inferPosterior } from "./infer-posterior.ts";
import { featureIndex, ROW_WIDTH, ROWS_BY_KIND, rowStart } from "./learned/model-layout.ts";

test("the next retry uses a new code in addition to the case's first code", () => {
  const after = (first: string | null, ...tries: (string | null)[]) => {
    const charges = [first, ...tries].map((networkDeclineCode, n) => ({
      ...failedCharge(`2026-03-${12 + n}T15:00`),
      codes: { ...codes, networkDeclineCode },
    }));
    const { laterCodeFeature, rows } = inferPosterior(newModel, buildHistory([charges])).posterior;
    return { thenName: laterCodeFeature, codeRow: rows.find((row) => row >= ROWS_BY_KIND.code.start && row < rowsEnd) };
  };
  const rowsEnd = ROWS_BY_KIND.code.start + ROWS_BY_KIND.code.rows * ROW_WIDTH;
  assert.deepEqual(after("51"), { thenName: null, codeRow: rowStart("code", "51") });
  const then = (first: string, code: string) => featureIndex(`rthen:${first}:${code}`);
  assert.deepEqual(after("51", "61"), { thenName: then("51", "61"), codeRow: rowStart("code", "61") });
  assert.deepEqual(after("51", "61", "R1 : Revoked"), { thenName: then("51", "r1"), codeRow: rowStart("code", "r1") });
  for (const same of [after("51", "61", "51"), after("51", "51")]) assert.deepEqual(same, after("51"));
  assert.deepEqual(after("51", "61", null), { thenName: then("51", "?"), codeRow: rowStart("code", "61") });
  assert.deepEqual(after(null, "61"), { thenName: then("?", "61"), codeRow: rowStart("code", "61") });
});

test("a code is the same with surrounding blanks, leading zeros, and a gateway's words after it", () => {
  const beliefAfter = (networkDeclineCode: string, networkAdviceCode: string) => {
    const charge = { ...failedCharge("2026-03-12T15:00"), codes: { ...codes, networkDeclineCode, networkAdviceCode } };
    return inferPosterior(newModel, buildHistory([[charge]])).posterior;
  };
  const bare = beliefAfter("51", "24");
  assert.deepEqual(beliefAfter("51 : Insufficient funds/over credit limit", "24 : Retry after 1 hour"), bare);
  for (const [code, advice] of [
    [" 51", "24 "],
    ["051", "024"],
    ["0051 : Insufficient funds", " 24"],
  ] as const)
    assert.deepEqual(beliefAfter(code, advice), bare, code);
  assert.notDeepEqual(beliefAfter("05", "24"), bare);
  assert.deepEqual(beliefAfter("5", "2"), beliefAfter("05", "02"));
  const onDebit = (networkDeclineCode: string) => {
    const charge = { ...failedCharge("2026-03-12T15:00"), codes: { ...codes, networkDeclineCode } };
    const instrument = { paymentMethodType: "bacs_debit", network: null, cardCountry: null };
    return inferPosterior(newModel, { ...buildHistory([[charge]], 0, null, "bacs_debit"), instrument }).posterior
      .codeFeature;
  };
  assert.equal(onDebit(" 0 "), onDebit("0"));
  assert.notEqual(onDebit("1"), onDebit("01"), "a debit's codes are no numbers");
  const ofGateway = (gatewayCode: string) => {
    const charge = { ...failedCharge("2026-03-12T15:00"), codes: { ...codes, networkDeclineCode: null, gatewayCode } };
    return inferPosterior(newModel, buildHistory([[charge]])).posterior.codeFeature;
  };
  assert.equal(ofGateway(" card_declined "), ofGateway("card_declined"));
  assert.notEqual(ofGateway("card:declined"), ofGateway("card:expired"), "a gateway's own code is left as it is");
});
