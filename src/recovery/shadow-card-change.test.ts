import assert from "node:assert/strict";
import { after, test } from "node:test";
import { findAnswer } from "../explain/answers.fixture.ts";
import { computeShadowFigures } from "../shadow/shadow-figures.ts";
import { describeCounts } from "../shadow/shadow-wording.ts";
import { decisionsOfCase } from "../tables/decisions.ts";
import { DAY, openStage } from "./stage.fixture.ts";

const stage = await openStage();
after(() => stage.drop());

test("a card change that would accompany a retry of the current card is logged once, and counted", async () => {
  const { id: merchantId } = await stage.enter(true, { shadow: true });
  const decisions = async () => decisionsOfCase(stage.db, merchantId, (await stage.caseIds())[0]!);
  await stage.invoice();
  await stage.transaction({ networkDeclineCode: "54" });
  await stage.decide();
  assert.equal((await decisions())[0]!.kind, "retry");
  const sentence = "Dunlin would ask for another card or payment method, and request a retry on ";
  assert.match(await findAnswer(stage, merchantId, "History"), new RegExp(`Shadow mode: ${sentence}`));
  const planned = await findAnswer(stage, merchantId, "Next step");
  assert.match(planned, /\nIt would ask for another card or payment method, and request a retry on /);
  stage.wait(2 * DAY);
  await stage.transaction({ networkDeclineCode: "54" });
  await stage.decide();
  assert.equal((await decisions()).length, 2);
  assert.equal((await findAnswer(stage, merchantId, "History")).split(sentence).length, 2);
  await stage.invoice({ id: "inv_2", customerId: "cus_2" });
  await stage.transaction({ invoiceId: "inv_2", customerId: "cus_2", cardFingerprint: "fp_2" });
  await stage.decide();
  const figures = await computeShadowFigures(stage.db, merchantId, new Date(0), stage.now());
  assert.deepEqual([figures.cases, figures.asked], [2, 1]);
  assert.match(
    describeCounts(figures, String).at(-1)!,
    /^In 1 of the invoices Dunlin would have asked the customer for another card/,
  );
});
