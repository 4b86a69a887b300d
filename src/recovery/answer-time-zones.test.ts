import assert from "node:assert/strict";
import { after, test } from "node:test";
import { buildExplanation, nameTimeZone } from "../explain/answers.ts";
import { loadExplainedCase } from "../explain/load-explained-case.ts";
import { HOUR, openStage } from "./stage.fixture.ts";

const stage = await openStage();
after(() => stage.drop());

test("the answers keep the customer's time zone when the paid attempt names no card", async () => {
  const { id: merchantId } = await stage.enter();
  const explain = async () => (await loadExplainedCase(stage.db, merchantId, "inv_1", stage.now()))!;
  await stage.invoice();
  // Without a fingerprint, the two attempts may be on different cards.
  await stage.transaction({ cardCountry: "SE", cardFingerprint: undefined });
  await stage.decide();
  assert.equal(nameTimeZone(await explain()), "Times are those of Europe/Stockholm.");
  stage.wait(HOUR);
  const noCard = {
    cardCountry: undefined,
    paymentMethodType: undefined,
    cardBrand: undefined,
    cardFingerprint: undefined,
  };
  await stage.transaction({ ...noCard, state: "PAID" });
  await stage.invoice({ state: "PAID", updatedAt: stage.now() });
  await stage.decide();
  const paid = await explain();
  assert.equal(nameTimeZone(paid), "Times are those of Europe/Stockholm.");
  assert.doesNotMatch(JSON.stringify(buildExplanation(paid)), /\(Europe\/Stockholm\)/, "named once, at the beginning");
});
