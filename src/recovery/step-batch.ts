import { setImmediate as othersFirst } from "node:timers/promises";
import type { Logger as Log } from "pino";
import type { Ports } from "../domain/ports.ts";
import { pokeCases } from "../store/case-pokes.ts";
import type { Database, Tx } from "../store/database.ts";
import { advanceMerchantClock, merchantClock } from "../store/merchant-clocks.ts";
import { findMerchant } from "../store/merchants.ts";
import { asksAfter } from "../store/recovery-actions.ts";
import { noteWatchedRetries, type WatchedRetry } from "../store/watched-retries.ts";
import type { Knowledge } from "./decide-case.ts";
import { listed } from "./listed.ts";
import type { MerchantModel, Models } from "./models.ts";
import { readBeginning, settleReview } from "./open-cases.ts";
import { reviewInvoices } from "./review.ts";
import { type Step, step } from "./step.ts";
import { type TakenCase, takeCases } from "./take-cases.ts";
import { type Facts, loadFacts } from "./views.ts";
import { watchedRetries } from "./watched-retries.ts";
import { type ToldOfSteps, tellOfSteps, writeSteps } from "./write-steps.ts";

/** Another process writes what it decided within this long, or hangs. */
const CLOCK_WAIT_MS = 1_000;

export interface Deciding extends ToldOfSteps {
  db: Database;
  ports: Ports;
  log: Log;
  models: Models;
  /** Between two cases: lets everything else in the process go first. */
  pause?(): Promise<unknown>;
}

/**
 * One step for each of up to `limit` cases of a merchant that are poked or due, in one transaction. Everything is decided before the merchant's clock is locked, so
 * that processes which decide for one merchant only write in turn.
 *
 * @param onTaken  told of the first case before it is stepped
 * @returns how many cases were stepped
 * @throws where another process holds the clock for long: see `isHeldUp`
 */
export async function stepBatch(
  deciding: Deciding,
  merchantId: string,
  limit: number,
  onTaken: (first: { id: string; failures: number }) => void = () => {},
): Promise<number> {
  const { db, ports, models } = deciding;
  // Read outside of the transaction: what is wrong with it must not undo a step.
  const knowledge = knowledgeOf(await models.of(merchantId));
  const { steps, withdrawn } = await db.transaction(async (tx) => {
    const now = ports.now();
    const [seenUntil, cases] = await Promise.all([
      merchantClock(tx, merchantId),
      takeCases(tx, merchantId, now, limit),
    ]);
    if (cases.length === 0) return NOTHING;
    onTaken(cases[0]!);
    // Read after the cases are locked: a change of settings that comes later finds them and pokes them again.
    const merchant = await findMerchant(tx, merchantId);
    if (!merchant) return NOTHING;
    const facts = await loadFacts(tx, merchant, cases, now);
    const provisional = new Date(now);
    const made = await stepEach(deciding, cases, facts, { now, provisional, knowledge });
    const owedAgain = made.filter(({ step }) => step.isOwedAgain).map(({ kase }) => kase.invoiceId);
    if (owedAgain.length > 0) await openAgain(tx, merchantId, owedAgain, ports);
    const listedAt = await advanceMerchantClock(tx, merchantId, now, CLOCK_WAIT_MS);
    const { standing, overtaken } = await withoutOvertaken(tx, merchantId, made, facts, seenUntil);
    const steps = standing.map(({ step }) => listed(step, provisional, listedAt));
    const watched = standing.flatMap((each) => each.watched);
    const [withdrawn] = await Promise.all([
      writeSteps(tx, merchantId, steps, now),
      watched.length > 0 && noteWatchedRetries(tx, merchantId, watched, listedAt),
      overtaken.length > 0 && pokeCases(tx, merchantId, overtaken, ports.newId()),
    ]);
    return { steps, withdrawn };
  });
  tellOfSteps(deciding, merchantId, steps, withdrawn);
  return steps.length;
}

/** Opens cases of invoices on which payments no longer stand, whichever attempt said so. */
async function openAgain(tx: Tx, merchantId: string, invoiceIds: readonly string[], ports: Ports) {
  const beginning = await readBeginning(tx, merchantId);
  const reviewed = await reviewInvoices(tx, merchantId, [], invoiceIds);
  const attemptIds = new Set(reviewed.flatMap(({ attempts }) => attempts.map(({ id }) => id)));
  await (await settleReview(tx, merchantId, reviewed, beginning, ports, attemptIds))();
}

const NOTHING = { steps: [], withdrawn: [] };

interface Made {
  kase: TakenCase;
  step: Step;
  watched: WatchedRetry[];
}

async function stepEach(
  { ports, pause = othersFirst }: Deciding,
  cases: readonly TakenCase[],
  facts: Facts,
  by: { now: Date; provisional: Date; knowledge: Knowledge },
): Promise<Made[]> {
  const all: Made[] = [];
  for (const kase of cases) {
    const view = facts.view(kase);
    const made = step(view, by.now, ports.newId, by.knowledge, by.provisional);
    // Of the case as the step leaves it: what came after its payment is not of this case.
    const watched = watchedRetries({ ...view, case: { ...kase, ...made.state } }).map(({ id }) => ({
      ...{ id: ports.newId(), transactionId: id, caseId: kase.id },
    }));
    facts.note(made);
    all.push({ kase, step: made, watched });
    // A step takes some 0.4 ms, and requests and deliveries of this process want to go on.
    await pause();
  }
  return all;
}

/**
 * Leaves out the retries that were decided without knowing of one that another process asked for meanwhile: together they might break a network's limit. Their
 * cases are decided anew.
 *
 * @param seenUntil  all that the merchant listed up to it was known to the steps
 */
async function withoutOvertaken(
  tx: Tx,
  merchantId: string,
  all: readonly Made[],
  facts: Facts,
  seenUntil: Date | null,
): Promise<{ standing: readonly Made[]; overtaken: string[] }> {
  if (!all.some(asksForRetry)) return { standing: all, overtaken: [] };
  const others = await asksAfter(tx, merchantId, seenUntil ?? new Date(0));
  if (others.length === 0) return { standing: all, overtaken: [] };
  const isOvertaken = (made: Made) => asksForRetry(made) && facts.isConcerned(made.kase, others);
  return {
    standing: all.filter((made) => !isOvertaken(made)),
    overtaken: all.filter(isOvertaken).map(({ kase }) => kase.id),
  };
}

const asksForRetry = ({ step: { inserted, updated, events } }: Made) => {
  const asked = new Set(events.map(({ id }) => id));
  return [...inserted, ...updated].some(({ id, type }) => type === "RETRY" && asked.has(id));
};

const knowledgeOf = (model: MerchantModel): Knowledge =>
  "trouble" in model
    ? { model: null, trouble: model.trouble }
    : { model: { learned: model.learned(), version: model.version, isTrained: model.isTrained }, trouble: null };
