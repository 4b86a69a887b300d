import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { DAY, HOUR, openStage, START } from "../recovery/stage.fixture.ts";
import { decisionsOfCase } from "../tables/decisions.ts";
import type { OptionValues } from "./command.ts";
import { createTestContext } from "./context.fixture.ts";
import { experimentStart } from "./experiment-commands.ts";
import { merchantSet } from "./merchant-commands.ts";
import { shadow } from "./shadow.ts";

let stage: Awaited<ReturnType<typeof openStage>>;
before(async () => {
  stage = await openStage();
});
after(() => stage.drop());

async function run(merchant: string, values: OptionValues = {}) {
  const { context, lines } = createTestContext(stage.db, {}, stage.ports);
  await shadow.run(context, { merchant, ...values }, []);
  return lines.join("\n");
}

test("`shadow` shows the merchant's retries beside Dunlin's decisions", async () => {
  const { id } = await stage.enter(true, { shadow: true });
  assert.match(await run(id), /is on\.\nNo invoice has become unpaid in shadow mode/);
  await stage.invoice();
  await stage.transaction();
  await stage.decide();
  assert.match(await run(id), /own system has made no retry since/);
  const [first] = await decisionsOfCase(stage.db, id, (await stage.caseIds())[0]!);
  stage.at(first!.idealTime!.getTime() + HOUR);
  await stage.transaction();
  await stage.decide();
  stage.wait(29 * DAY);
  await stage.decide();
  const early = await run(id);
  assert.match(early, /1 invoice became unpaid from 2026-03-02 on; 0 are old enough to count \(without voided/);
  assert.match(
    early,
    /1 is too young, and counts on 2026-04-06: paid or not, each counts 7 days after the end of its window/,
  );
  assert.doesNotMatch(early, /Without Dunlin|By its own model/);
  stage.wait(5 * DAY);
  const output = await run(id);
  assert.match(output, /1 invoice became unpaid from \d{4}-\d\d-\d\d on; 1 is old enough to count \(without voided/);
  assert.match(output, /Without Dunlin, 0 of 1 counted invoices were paid:\n {2}EUR 0\.00 of EUR 49\.00\n/);
  assert.match(output, /By its own model these plans would recover \d\.\d of them; 0 were paid\.\nA model overrates/);
  assert.match(output, /retry too, within 12 hours +1 +0\n/);
  assert.match(output, /Of 1 retry made at Dunlin's times, Dunlin had predicted \d\.\d to be approved, and 0 were\./);
  assert.doesNotMatch(output, /%/, "one invoice has no percentage");
  const numbers = JSON.parse(await run(id, { json: true }));
  assert.deepEqual(
    [numbers.shadow, numbers.cases, numbers.money],
    [true, 1, { EUR: { cases: 1, due: 4900, paid: 0 } }],
  );
  assert.match(await run(id, { from: "2099-01-01" }), /No invoice has become unpaid/);
});

test("`shadow` describes the model's calibration by payment method: cards, bank debits, others unknown", async () => {
  const CARD = {};
  const DEBIT = { paymentMethodType: "sepa_debit", cardBrand: undefined, networkDeclineCode: "AM04" };
  const PAYPAL = { paymentMethodType: "paypal", cardBrand: undefined, networkDeclineCode: undefined };
  /** Whether the output mentions cards, bank debits, and other payment methods. */
  const mentionedBy = async (...invoices: (typeof CARD | typeof DEBIT | typeof PAYPAL)[]) => {
    const { id } = await stage.enter(true, { shadow: true });
    stage.at(START.getTime());
    for (const [n, kind] of invoices.entries()) {
      await stage.invoice({ id: `inv_${n}`, customerId: `cus_${n}` });
      await stage.transaction({ invoiceId: `inv_${n}`, customerId: `cus_${n}`, cardFingerprint: `fp_${n}`, ...kind });
    }
    await stage.decide();
    stage.at(START.getTime() + 40 * DAY);
    await stage.decide();
    const output = await run(id);
    assert.match(output, new RegExp(`For ${invoices.length} of them Dunlin had a plan`));
    return [
      /in simulations with cards/,
      /simulations with bank debits, plans recovered as much as predicted\./,
      /By how much is unknown/,
    ].map((words) => words.test(output));
  };
  assert.deepEqual(await mentionedBy(CARD), [true, false, false]);
  assert.deepEqual(await mentionedBy(DEBIT), [false, true, false]);
  assert.deepEqual(await mentionedBy(CARD, DEBIT), [true, true, false]);
  assert.deepEqual(await mentionedBy(PAYPAL), [false, false, true]);
  assert.deepEqual(await mentionedBy(CARD, PAYPAL), [true, false, true]);
});

test("`shadow` shows percentages from thirty invoices or retries on", async () => {
  const { id } = await stage.enter(true, { shadow: true });
  const invoices = Array.from({ length: 30 }, (_, n) => ({ id: `inv_${n}`, customerId: `cus_${n}` }));
  const tried = ({ id, customerId }: { id: string; customerId: string }, state: "FAILED" | "PAID") =>
    stage.transaction({ invoiceId: id, customerId, cardFingerprint: `fp_${id}`, state });
  for (const invoice of invoices) {
    await stage.invoice(invoice);
    await tried(invoice, "FAILED");
  }
  await stage.decide();
  for (const [n, caseId] of (await stage.caseIds()).entries()) {
    const [first] = await decisionsOfCase(stage.db, id, caseId);
    stage.at(first!.idealTime ?? stage.now());
    await tried(invoices[n]!, n < 6 ? "PAID" : "FAILED");
  }
  stage.at(START.getTime() + 40 * DAY);
  await stage.decide();
  const output = await run(id);
  assert.match(
    output,
    /Without Dunlin, 6 of 30 counted invoices \(20\.0%\) were paid:\n.*294\.00 of EUR 1,470\.00 \(20\.0%\)/,
  );
  assert.match(output, /these plans would recover \d+\.\d of them \(\d+\.\d%\); 6 \(20\.0%\) were paid/);
  assert.match(
    output,
    /Of 30 retries made at Dunlin's times, Dunlin had predicted \d+\.\d \(\d+\.\d%\) to be approved, and 6 \(20\.0%\) were/,
  );
});

test("an experiment and shadow mode exclude each other", async () => {
  const { id } = await stage.enter(true, { shadow: true });
  const { context } = createTestContext(stage.db);
  const start = () => experimentStart.run(context, { merchant: id, name: "both" }, []);
  await assert.rejects(start(), /Shop is in shadow mode.*--shadow no/);
  await stage.set({ shadow: false });
  await start();
  await assert.rejects(merchantSet.run(context, { shadow: "yes" }, [id]), /An experiment is running/);
  await merchantSet.run(context, { shadow: "no" }, [id]);
});

test("one of them is refused when an experiment and shadow mode are started at the same time", async () => {
  const { context } = createTestContext(stage.db);
  for (let n = 0; n < 5; n++) {
    const { id } = await stage.enter();
    const both = await Promise.allSettled([
      experimentStart.run(context, { merchant: id, name: "both" }, []),
      merchantSet.run(context, { shadow: "yes" }, [id]),
    ]);
    assert.deepEqual(both.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
  }
});
