// Setup for tests of the balance.

import { buildAnswers } from "../explain/answers.ts";
import { loadExplainedCase } from "../explain/load-explained-case.ts";
import { prepared } from "../postgres/database.ts";
import { listConflicts } from "../tables/invoice-conflicts.ts";
import { openStage } from "./stage.fixture.ts";

const SELECT_AMOUNTS = prepared(
  "test_amounts",
  `select amount_due as "amountDue", reasons from recovery_actions where merchant_id = $1 order by created_at, id`,
);

/** A stage with helpers to read balances. */
export async function openBalanceStage() {
  const stage = await openStage();
  const { db } = stage;
  let merchantId: string;
  const rows = async () => (await db.run<{ amountDue: number; reasons: string[] }>(SELECT_AMOUNTS, [merchantId])).rows;
  return {
    ...stage,
    async enter() {
      const merchant = await stage.enter();
      merchantId = merchant.id;
      return merchant;
    },
    /** The amount due of each action. */
    amountsDue: async () => (await rows()).map(({ amountDue }) => amountDue),
    /** The reasons of each action in one text. */
    reasons: async () => (await rows()).map(({ reasons }) => reasons.join(" ")),
    /** The first answer about the invoice, in one text. */
    async planned() {
      const explained = (await loadExplainedCase(db, merchantId, "inv_1", stage.now()))!;
      return buildAnswers(explained)[0]!.answer.join(" ");
    },
    conflicts: async () => (await listConflicts(db, merchantId, 10)).conflicts,
    /** Like `untilDecided` and `untilSent`, but for a case that was never stepped. */
    async untilDecidedFrom() {
      await stage.decide();
      await stage.untilDecided();
    },
    async untilSentFrom() {
      await stage.decide();
      return await stage.untilSent();
    },
  };
}
