import assert from "node:assert/strict";
import { after, test } from "node:test";
import { openStage } from "../recovery/stage.fixture.ts";
import { findAnswer } from "./answers.fixture.ts";

const stage = await openStage();
after(() => stage.drop());

test("the request names a confirmation before another card when the bank wants one", async () => {
  const { id: merchantId } = await stage.enter();
  const findText = (question: string) => findAnswer(stage, merchantId, question);
  await stage.invoice();
  await stage.transaction({ networkDeclineCode: "1A" });
  await stage.decide();
  for (const question of ["History", "Next step", "Why not today?", "Why this hour?"])
    assert.match(
      await findText(question),
      /A confirmation of the payment|is (first asked|asked at once) to confirm/,
      question,
    );
  assert.match(
    await findText("Why a new card?"),
    /^A confirmation of the payment, or another card or payment method, was requested on Mon 2 March, 11:00:\n/,
  );
  await stage.deliver();
  await stage.decide();
  assert.match(await findText("Why did it stop?"), /asked to confirm the payment or .*, and may still do so\./);
});
