import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { HOUR, openStage } from "../recovery/stage.fixture.ts";
import { buildSummary } from "./invoice-summary.ts";
import { loadExplainedCase } from "./load-explained-case.ts";

const stage = await openStage();
after(() => stage.drop());
let merchantId: string;
beforeEach(async () => {
  merchantId = (await stage.enter()).id;
});

const summary = async () => {
  const [, clocks, ...lines] = buildSummary((await loadExplainedCase(stage.db, merchantId, "inv_1", stage.now()))!);
  assert.match(clocks!, /^Times are those of Europe\/Berlin\.$/);
  assert.ok(lines.length <= 3);
  return lines.join("\n");
};
async function createFailedInvoice(over: Parameters<typeof stage.transaction>[0] = {}) {
  await stage.invoice();
  await stage.transaction(over);
  await stage.decide();
}
const TIME_PATTERN = String.raw`... \d+ March, \d\d:\d\d`;

test("the summary of an open case names the last step, the next one with its time, and what the case waits for", async () => {
  await createFailedInvoice();
  assert.match(
    await summary(),
    new RegExp(
      `^Last done {3}${TIME_PATTERN}: .*\nNext {8}A retry is planned for ${TIME_PATTERN} and may still change\\. The chance of success is \\d+%\\.\nWaiting {5}for its time\\. `,
    ),
  );
  await stage.untilSent();
  assert.match(
    await summary(),
    new RegExp(
      `^Last done {3}${TIME_PATTERN}: A retry on .* was requested, .*\nNext {8}A retry was requested for ${TIME_PATTERN}, and .* has accepted the request\\. .*\nWaiting {5}for the outcome`,
    ),
  );
});

test("the summary of an ended case names the time and the reason of its end, and no next step", async () => {
  await createFailedInvoice();
  stage.wait(HOUR);
  await stage.transaction({ state: "PAID" });
  await stage.invoice({ state: "PAID" });
  await stage.decide();
  assert.match(
    await summary(),
    new RegExp(
      `^Last done {3}${TIME_PATTERN}: An attempt succeeded\\.\nEnded {7}${TIME_PATTERN}: The case ended: the invoice is paid\\.$`,
    ),
  );
});

test("the summary names what a case waits for: another card, or the merchant's system in shadow mode; and why there is no case", async () => {
  await createFailedInvoice({ networkDeclineCode: "41" });
  await stage.untilSent();
  assert.match(await summary(), /^Last done .*\nWaiting {5}for another card or payment method of the customer\.$/);
  merchantId = (await stage.enter(true, { shadow: true })).id;
  await createFailedInvoice();
  assert.match(await summary(), /\nNext {8}It would .*\nWaiting {5}for the merchant's own system/);
  merchantId = (await stage.enter()).id;
  await stage.invoice({ state: "PAID" });
  await stage.transaction({ state: "PAID" });
  assert.match(await summary(), /\nWhy {9}It was paid at the first attempt/);
});
