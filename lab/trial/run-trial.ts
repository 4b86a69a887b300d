import { DAY_MS } from "../../src/domain/durations.ts";
import type { Bill, Charge, World } from "../worlds/world.ts";
import { type Attempt, type Choice, findRules, maxRetriesFor, type OpenCase, type Policy } from "./policy.ts";
import { createTimeQueue } from "./time-queue.ts";

export interface TrialRetry {
  open: OpenCase;
  choice: Choice;
  charge: Charge;
}

export interface Trial {
  cases: OpenCase[];
  retries: TrialRetry[];
}

/** In order of time. The next invoice's time is known only once made, so the world is at most one invoice ahead. */
export function runTrial(world: World, policy: Policy, seed: number, customers: number): Trial {
  const trial: Trial = { cases: [], retries: [] };
  const attempts = new Map<string, Attempt[]>();
  const byCard = new Map<string, Attempt[]>();
  const waiting = createTimeQueue<{ open: OpenCase; choice: Choice }>();
  const planned = new Map<string, Map<OpenCase, Choice | null>>();
  const wait = (open: OpenCase, choice: Choice | null) => {
    if (choice) waiting.push(choice.at, { open, choice });
    const { customerId } = open.bill;
    planned.set(customerId, (planned.get(customerId) ?? new Map()).set(open, choice));
  };
  const plan = (open: OpenCase, now: number) => {
    planned.get(open.bill.customerId)?.delete(open);
    if (open.retriesLeft <= 0 || now >= open.endsAt) return;
    const nextChoice = policy.next(open, now);
    const choice = nextChoice && { ...nextChoice, at: Math.floor(nextChoice.at) };
    if (choice && choice.at > now && choice.at < open.endsAt) wait(open, choice);
    else if (policy.waits?.(open, now)) wait(open, null);
  };
  /** After another invoice's charge. */
  const replanOthers = ({ id, customerId }: Bill, now: number) => {
    if (!policy.waits) return;
    for (const open of [...(planned.get(customerId)?.keys() ?? [])]) if (open.bill.id !== id) plan(open, now);
  };
  const attempt = (open: OpenCase, plannedChoice: Choice) => {
    // Another invoice's attempt may have changed the rules.
    if (!findRules(open).allow(plannedChoice.at)) {
      plan(open, plannedChoice.at);
      return;
    }
    const choice = policy.reconsidered ? policy.reconsidered(open, plannedChoice) : plannedChoice;
    if (!choice || choice.at >= open.endsAt) return;
    if (choice.at > plannedChoice.at) {
      wait(open, choice);
      return;
    }
    const charge = world.charge(open.bill, new Date(choice.at));
    open.retriesLeft--;
    open.charges.push(charge);
    recordAttempt(open.attempts as Attempt[], { bill: open.bill, charge });
    trial.retries.push({ open, choice, charge });
    policy.answered?.(open, choice, charge);
    if (!charge.approved) plan(open, choice.at);
    replanOthers(open.bill, choice.at);
  };
  const attemptUntil = (time: number) => {
    while (waiting.nextAt() <= time) {
      const { open, choice } = waiting.pop()!;
      const choices = planned.get(open.bill.customerId)!;
      // Planned again since.
      if (choices.get(open) !== choice) continue;
      choices.delete(open);
      attempt(open, choice);
    }
  };

  for (const bill of world.bills(seed, customers)) {
    attemptUntil(bill.createdAt.getTime());
    begin(bill);
  }
  attemptUntil(Number.MAX_VALUE);
  return trial;

  function recordAttempt(customerAttempts: Attempt[], attempt: Attempt) {
    customerAttempts.push(attempt);
    const card = attempt.charge.cardFingerprint;
    if (card === undefined) return;
    const onCard = byCard.get(card);
    if (onCard) onCard.push(attempt);
    else byCard.set(card, [attempt]);
  }

  function begin(bill: Bill) {
    const customerAttempts = attempts.get(bill.customerId) ?? [];
    attempts.set(bill.customerId, customerAttempts);
    recordAttempt(customerAttempts, { bill, charge: bill.first });
    policy.billed?.(bill);
    replanOthers(bill, bill.createdAt.getTime());
    if (bill.first.approved) return;
    const createdAt = bill.createdAt.getTime();
    const endsAt = createdAt + bill.windowDays * DAY_MS;
    const charges = [bill.first];
    const triesLeft = maxRetriesFor(bill);
    const open: OpenCase = {
      bill,
      charges,
      retriesLeft: triesLeft,
      endsAt,
      attempts: customerAttempts,
      byCard,
      byCustomer: attempts,
    };
    trial.cases.push(open);
    plan(open, createdAt);
  }
}
