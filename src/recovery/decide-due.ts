import type { Logger as Log } from "pino";
import type { Merchant } from "../domain/merchant.ts";
import type { Ports } from "../domain/ports.ts";
import { merchantsWithDueCases, nextDueCaseAt, saveCaseStates, setCaseAside, takeDueCases } from "../store/cases.ts";
import type { Database, Tx } from "../store/database.ts";
import { insertEvents, withdrawEvents } from "../store/events.ts";
import { advanceMerchantClock } from "../store/merchant-clocks.ts";
import { findMerchant } from "../store/merchants.ts";
import { insertRecoveryActions, updateRecoveryActions } from "../store/recovery-actions.ts";
import type { OnWithdrawn } from "./ingest.ts";
import { type Step, step } from "./step.ts";
import { loadViews } from "./views.ts";

const CASES_PER_STEP = 100;
/** A case whose step fails is looked at again after a minute, then two, four, … at most a day (service time). */
const ASIDE_MS = 60_000;
const ASIDE_MAX_MS = 24 * 60 * 60_000;

export interface DecideDue {
  db: Database;
  ports: Ports;
  log: Log;
  /** Events were committed for this merchant. */
  onEvents(merchantId: string): void;
  onWithdrawn: OnWithdrawn;
}

/**
 * Take the cases that are due once, one step for each, and write the next due time with the result.
 *
 * @returns how many cases were stepped, and when the next one falls due (null: none)
 */
export async function decideDue(deciding: DecideDue): Promise<{ stepped: number; nextDueAt: Date | null }> {
  const { db, ports } = deciding;
  let stepped = 0;
  for (const merchantId of await merchantsWithDueCases(db, ports.now())) {
    const merchant = await findMerchant(db, merchantId);
    if (merchant) stepped += await stepMerchant(deciding, merchant);
  }
  return { stepped, nextDueAt: stepped > 0 ? ports.now() : await nextDueCaseAt(db, ports.now()) };
}

async function stepMerchant(deciding: DecideDue, merchant: Merchant): Promise<number> {
  try {
    return await stepBatch(deciding, merchant, CASES_PER_STEP);
  } catch (error) {
    deciding.log.error({ err: error, merchantId: merchant.id }, "decide.failed");
    return await stepOneByOne(deciding, merchant);
  }
}

/** A batch failed: find the case that does it, set it aside, and let the others go on. */
async function stepOneByOne(deciding: DecideDue, merchant: Merchant): Promise<number> {
  for (let stepped = 0; stepped < CASES_PER_STEP; stepped++) {
    let first: { id: string; failures: number } | undefined;
    try {
      const done = await stepBatch(deciding, merchant, 1, (taken) => {
        first = taken;
      });
      if (done === 0) return stepped;
    } catch (error) {
      if (!first) throw error;
      deciding.log.error({ err: error, merchantId: merchant.id, caseId: first.id }, "decide.failed");
      const delay = Math.min(ASIDE_MS * 2 ** first.failures, ASIDE_MAX_MS);
      await setCaseAside(deciding.db, merchant.id, first.id, new Date(deciding.ports.now().getTime() + delay));
    }
  }
  return CASES_PER_STEP;
}

async function stepBatch(
  { db, ports, log, onEvents, onWithdrawn }: DecideDue,
  merchant: Merchant,
  limit: number,
  onTaken: (first: { id: string; failures: number }) => void = () => {},
): Promise<number> {
  const { steps, withdrawn } = await db.transaction(async (tx) => {
    const now = await advanceMerchantClock(tx, merchant.id, ports.now());
    const cases = await takeDueCases(tx, merchant.id, now, limit);
    if (cases.length === 0) return { steps: [], withdrawn: [] };
    onTaken(cases[0]!);
    const steps = (await loadViews(tx, merchant, cases, now)).map((view) => step(view, now, ports.newId));
    return { steps, withdrawn: await write(tx, merchant.id, steps, now) };
  });
  if (withdrawn.length > 0) onWithdrawn(merchant.id, withdrawn);
  if (steps.some(({ events }) => events.length > 0)) onEvents(merchant.id);
  for (const { state, events, inserted, updated } of steps)
    logStep(log, merchant.id, state, events, [...inserted, ...updated]);
  return steps.length;
}

async function write(tx: Tx, merchantId: string, steps: readonly Step[], now: Date): Promise<string[]> {
  const ended = steps.filter(({ withdrawAll }) => withdrawAll).map(({ state }) => state.id);
  const single = steps.flatMap(({ withdrawn }) => withdrawn);
  const inserted = steps.flatMap((s) => s.inserted);
  const updated = steps.flatMap((s) => s.updated);
  const events = steps.flatMap((s) => s.events);
  const withdrawn = ended.length + single.length > 0 ? await withdrawEvents(tx, merchantId, ended, single, now) : [];
  if (inserted.length > 0) await insertRecoveryActions(tx, merchantId, inserted);
  if (updated.length > 0) await updateRecoveryActions(tx, merchantId, updated);
  if (events.length > 0) await insertEvents(tx, merchantId, events);
  await saveCaseStates(
    tx,
    merchantId,
    steps.map(({ state }) => state),
  );
  return withdrawn;
}

function logStep(
  log: Log,
  merchantId: string,
  state: Step["state"],
  events: Step["events"],
  actions: readonly Step["updated"][number][],
) {
  const caseId = state.id;
  for (const { id, type, invoiceId } of events)
    log.info({ merchantId, caseId, invoiceId, eventId: id, type }, "event.created");
  for (const { id, type, status, idealRetryTime, invoiceId } of actions)
    log.info({ merchantId, caseId, invoiceId, actionId: id, type, status, idealRetryTime }, "action.changed");
  if (state.endReason) log.info({ merchantId, caseId, endReason: state.endReason, dueAt: state.dueAt }, "case.ended");
}
