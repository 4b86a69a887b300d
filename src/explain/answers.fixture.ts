import assert from "node:assert/strict";
import type { openStage } from "../recovery/stage.fixture.ts";
import { buildExplanation } from "./answers.ts";
import { loadExplainedCase } from "./load-explained-case.ts";

type Stage = Pick<Awaited<ReturnType<typeof openStage>>, "db" | "now">;

/** A part of `dunlin explain`, by its heading, as one text. */
export async function findAnswer(stage: Stage, merchantId: string, question: string, invoiceId = "inv_1") {
  return (await explainInvoice(stage, merchantId, invoiceId)).answerTo(question);
}

/** An explained case, and its parts by their headings. */
export async function explainInvoice({ db, now }: Stage, merchantId: string, invoiceId: string) {
  const explained = (await loadExplainedCase(db, merchantId, invoiceId, now()))!;
  const answers = buildExplanation(explained);
  const answerTo = (question: string) => {
    const found = answers.find((each) => each.question === question);
    assert.ok(found, question);
    assert.ok(found.answer.length > 0);
    for (const line of found.answer) assert.doesNotMatch(line, /undefined|null|NaN|\[object/);
    return found.answer.join("\n");
  };
  return { ...explained, answerTo };
}
