import type { Transaction } from "../domain/transaction.ts";
import type { openStage } from "./stage.fixture.ts";

type Stage = Awaited<ReturnType<typeof openStage>>;

/** Runs one retry until it is sent, executed and answered. */
async function makeRetry(stage: Stage, answer: Partial<Transaction>) {
  const sent = await stage.untilSent();
  stage.at(sent.ideal.getTime());
  await stage.transaction(answer);
  await stage.decide();
}

/** Creates a case with two retries, the second of which is paid. */
export async function createRecoveredCase(stage: Stage, invoiceId = "inv_1") {
  await stage.invoice({ id: invoiceId });
  await stage.transaction({ invoiceId });
  await stage.decide();
  await makeRetry(stage, { invoiceId });
  await makeRetry(stage, { invoiceId, state: "PAID" });
}
