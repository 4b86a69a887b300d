import { setTimeout as sleep } from "node:timers/promises";
import { integerBetween, keyedRandom } from "../../../simulator/world/keyed-random.ts";
import type { RecoveryAction } from "../../../src/domain/recovery-action.ts";
import { prepared } from "../../../src/postgres/database.ts";
import type { Store } from "../../../src/process/open-store.ts";
import { advanceMerchantClock } from "../../../src/tables/merchant-clocks.ts";
import { insertRecoveryActions, updateRecoveryActions } from "../../../src/tables/recovery-actions.ts";

/**
 * Executions per transaction, at most as many as the service claims cases per step. A transaction costs about as much as 50 of
 * them.
 */
const ACTIONS_PER_COMMIT = [20, 100] as const;
/** Concurrent transactions, which queue at the merchant's clock row. */
const WRITERS = 3;
/** How long a transaction is held before its commit, while others wait for it. */
const TRANSACTION_HELD_MS = 15;

const INSERT_CASE = prepared(
  "sync_case",
  `insert into cases (merchant_id, id, invoice_id, customer_id, amount, currency, unpaid_at, window_ends_at, budget, opened_at)
   values ($1, $2, 'inv_1', 'cus_1', 900, 'EUR', $3, $3::timestamptz + interval '1 day', 8, $3)`,
);

/** Plans and executes actions at this rate until stopped, with the service's own writes. */
export async function startExecutions({ db, ports }: Store, merchantId: string, perSecond: number, seed: number) {
  let draws = 0;
  const draw = () => keyedRandom(seed, "executions", draws++);
  const caseId = ports.newId();
  await db.run(INSERT_CASE, [merchantId, caseId, ports.now()]);
  let executed = 0;
  let stopped = false;

  /** Runs one transaction: executes some planned actions in random order of ids, and plans as many again. */
  async function step(planned: readonly RecoveryAction[]): Promise<RecoveryAction[]> {
    const shuffled = planned.map((action) => ({ action, place: draw() })).sort((a, b) => a.place - b.place);
    const inOrder = shuffled.map(({ action }) => action);
    const together = Math.round(integerBetween(draw(), ...ACTIONS_PER_COMMIT));
    const due = inOrder.slice(0, together);
    // Read before the lock, as in a step of cases: the first to lock may have the later clock.
    const now = ports.now();
    const fresh = await db.transaction(async (tx) => {
      const at = await advanceMerchantClock(tx, merchantId, now);
      await updateRecoveryActions(
        tx,
        merchantId,
        due.map((action) => executedAction(action, at, draw() < 0.5)),
      );
      const plans = Array.from({ length: together }, () => plannedAction(ports.newId(), caseId, at));
      await insertRecoveryActions(tx, merchantId, plans);
      await sleep(integerBetween(draw(), 0, TRANSACTION_HELD_MS));
      return plans;
    });
    executed += due.length;
    return [...inOrder.slice(together), ...fresh];
  }

  const startedMs = performance.now();
  async function write() {
    let planned = Array.from({ length: 2 * ACTIONS_PER_COMMIT[1] }, () =>
      plannedAction(ports.newId(), caseId, ports.now()),
    );
    await db.transaction((tx) => insertRecoveryActions(tx, merchantId, planned));
    while (!stopped) {
      planned = await step(planned);
      const aheadMs = startedMs + (executed * 1000) / perSecond - performance.now();
      if (aheadMs > 0) await sleep(aheadMs);
    }
  }
  const writing = Promise.all(Array.from({ length: WRITERS }, write));
  // `stop` awaits it and gets the error.
  writing.catch(() => {});
  return {
    async stop() {
      stopped = true;
      await writing;
      return { executed, perSecond: executed / ((performance.now() - startedMs) / 1000) };
    },
  };
}

const executedAction = (action: RecoveryAction, at: Date, succeeded: boolean): RecoveryAction => ({
  ...action,
  status: succeeded ? "SUCCEEDED" : "FAILED",
  transactionId: `txn_${action.id}`,
  attemptedAt: at,
  executedAt: at,
  updatedAt: at,
});

const plannedAction = (id: string, caseId: string, at: Date): RecoveryAction => ({
  id,
  caseId,
  invoiceId: "inv_1",
  subscriptionId: null,
  customerId: "cus_1",
  transactionId: null,
  paymentMethodType: "card",
  cardCountry: "DE",
  currency: "EUR",
  amountDue: 4900,
  type: "RETRY",
  status: "SENT",
  integrationType: "CUSTOM",
  actionSuggestion: "RETRY",
  idealRetryTime: at,
  reasons: ["Payday is near."],
  decidedAt: at,
  executedAt: null,
  attemptedAt: null,
  createdAt: at,
  updatedAt: at,
});
