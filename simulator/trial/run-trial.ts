import { DAY_MS } from "../../src/domain/durations.ts";
import type { Bill, Charge, World } from "../worlds/world.ts";
import { type Attempt, type Choice, type OpenCase, type Policy, rulesFor, triesFor } from "./policy.ts";
import { createQueue } from "./queue.ts";

/** A try that a policy chose, with what came of it. */
export interface Try {
  open: OpenCase;
  choice: Choice;
  charge: Charge;
}

/** Everything that happened in one run. */
export interface Trial {
  cases: OpenCase[];
  tries: Try[];
}

/**
 * Run a world's year under a policy. Bills come as the world makes them, tries in order of time between them; only a
 * world that is asked for its next bill knows when that is, so it is at most one bill ahead of the tries.
 */
export function runTrial(world: World, policy: Policy, seed: number, customers: number): Trial {
  const trial: Trial = { cases: [], tries: [] };
  const attempts = new Map<string, Attempt[]>();
  const waiting = createQueue<{ open: OpenCase; choice: Choice }>();

  const plan = (open: OpenCase, now: number) => {
    if (open.triesLeft <= 0) return;
    const choice = policy.next(open, now);
    if (choice && choice.at > now && choice.at < open.endsAt) waiting.push(choice.at, { open, choice });
  };
  const attempt = (open: OpenCase, chosen: Choice) => {
    // Another bill's try on the same card may have changed what is allowed.
    if (!rulesFor(open).allow(chosen.at)) {
      plan(open, chosen.at);
      return;
    }
    const choice = policy.reconsidered ? policy.reconsidered(open, chosen) : chosen;
    if (!choice || choice.at >= open.endsAt) return;
    if (choice.at > chosen.at) {
      waiting.push(choice.at, { open, choice });
      return;
    }
    const charge = world.charge(open.bill, new Date(choice.at));
    open.triesLeft--;
    open.charges.push(charge);
    (open.attempts as Attempt[]).push({ bill: open.bill, charge });
    trial.tries.push({ open, choice, charge });
    policy.answered?.(open, choice, charge);
    if (!charge.approved) plan(open, choice.at);
  };
  const attemptUntil = (time: number) => {
    while (waiting.nextAt() <= time) {
      const { open, choice } = waiting.pop()!;
      attempt(open, choice);
    }
  };

  for (const bill of world.bills(seed, customers)) {
    attemptUntil(bill.createdAt.getTime());
    begin(bill);
  }
  attemptUntil(Number.MAX_VALUE);
  return trial;

  function begin(bill: Bill) {
    const known = attempts.get(bill.customerId) ?? [];
    attempts.set(bill.customerId, known);
    known.push({ bill, charge: bill.first });
    policy.billed?.(bill);
    if (bill.first.approved) return;
    const createdAt = bill.createdAt.getTime();
    const endsAt = createdAt + bill.windowDays * DAY_MS;
    const open: OpenCase = { bill, charges: [bill.first], triesLeft: triesFor(bill), endsAt, attempts: known };
    trial.cases.push(open);
    plan(open, createdAt);
  }
}
