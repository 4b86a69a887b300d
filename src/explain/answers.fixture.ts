import assert from "node:assert/strict";
import type { openStage } from "../recovery/stage.fixture.ts";
import { buildExplanation } from "./answers.ts";
import { loadExplainedCase } from "./load-explained-case.ts";

type Stage = Pick<Awaited<ReturnType<typeof openStage>>, "db" | "now">;

/** What `dunlin explain` answers to a question, as one text. */
export async function findAnswer({ db, now }: Stage, merchantId: string, question: string, invoiceId = "inv_1") {
  const explained = await loadExplainedCase(db, merchantId, invoiceId, now());
  const found = buildExplanation(explained!).find((each) => each.question === question);
  assert.ok(found, question);
  assert.ok(found.answer.length > 0);
  for (const line of found.answer) assert.doesNotMatch(line, /undefined|null|NaN|\[object/);
  return found.answer.join("\n");
}
