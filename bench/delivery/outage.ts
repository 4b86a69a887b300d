import { setTimeout as sleep } from "node:timers/promises";
import type { Endpoint } from "../delivery-receiver.ts";
import { startBenchProcess } from "../worker-process.ts";
import { commitEvents, makeMerchants, startBenchService } from "./bench-service.ts";
import { countWaiting, type LoggedAttempt, readAttemptHistory, setPaused } from "./delivery-tables.ts";
import type { Behaviour } from "./journal-receiver.ts";

const MERCHANTS = 100;
const CAP = 5;
const HOUR_MS = 3_600_000;
/** From an attempt's end to the next, repeated from the documentation as a check. */
const DELAYS_MS = [100, 5_000, 15_000, 900_000, 1_800_000];
const ATTEMPTS_MAX = 6;
/** Sends Retry-After: all of this receiver's events come due at once. */
const PATIENT_EVERY = 4;
const REPLY_MS = 2;
const LIMIT_MS = 1_200_000;
/** A sender reads about a second of rows ahead. */
const ORDER_MS = 1_500;

/** Every receiver is away for an hour of service time while events are made, and then all return at once. */
export async function outage(quick: boolean) {
  const [count, rate] = quick ? [10_000, 100] : [100_000, 10];
  const receiver = await startBenchProcess("delivery/journal-receiver.ts");
  const endpoint = await receiver.ask<Endpoint>("endpoint");
  const stage = await startBenchService(endpoint, { DUNLIN_CLOCK_RATE: String(rate) });
  try {
    console.log(
      `\noutage: ${count.toLocaleString("en")} events of ${MERCHANTS} merchants, made during an hour of outage; service time ${rate} times as fast`,
    );
    const { db, ports } = stage.store;
    const merchants = await makeMerchants(stage, endpoint, MERCHANTS, CAP);
    const seedMs = count / 5 + 10_000;
    const from = ports.now().getTime() + seedMs * rate;
    await commitEvents(stage, merchants, count, (index) => new Date(from + (index * HOUR_MS) / count));
    await setPaused(db, false);
    await sleep(Math.max(0, (from - ports.now().getTime()) / rate));
    const backAt = ports.realNow().getTime() + HOUR_MS / rate;
    const away: Behaviour = { status: 500, delayMs: REPLY_MS, patientEvery: PATIENT_EVERY, patientUntil: backAt, rate };
    await receiver.ask("behave", away);
    await sleep(Math.max(0, backAt - ports.realNow().getTime()));
    const back = { ...away, status: 200, patientEvery: 0 };
    await receiver.ask("behave", back);
    const waiting = await countWaiting(db);
    const mostAway = await receiver.ask<number>("most");
    const restMs = await waitUntilDelivered(() => countWaiting(db));
    const mostBack = await receiver.ask<number>("most");
    const backService = from + HOUR_MS;
    const found = { delivered: 0, exhausted: 0, attempts: 0, notFinal: 0, wrongCount: 0, early: 0 };
    const disorder: number[] = [];
    for (const [index, { id }] of merchants.entries()) {
      const log = await readAttemptHistory(db, id);
      checkAttempts(log, found);
      disorder.push(...findDisorder(log, index % PATIENT_EVERY === 0 ? backService : 0).map((ms) => ms / rate));
    }
    disorder.sort((a, b) => a - b);
    const worst = disorder.at(-1) ?? 0;
    console.log(
      `  ${waiting.toLocaleString("en")} events waited at the end of the outage; all were final ${(restMs / 1_000).toFixed(1)} s later, ${((restMs * rate) / 60_000).toFixed(0)} minutes of service time`,
    );
    console.log(
      `  delivered ${found.delivered}, exhausted ${found.exhausted}, attempts ${found.attempts}; not final ${found.notFinal}, another number of attempts than ${ATTEMPTS_MAX} before giving up ${found.wrongCount}, early ${found.early}: ${verdict(found.notFinal + found.wrongCount + found.early === 0)}`,
    );
    console.log(
      `  concurrent requests of one merchant: ${mostAway} in the outage, ${mostBack} after it; the cap is ${CAP}: ${verdict(Math.max(mostAway, mostBack) <= CAP)}`,
    );
    console.log(
      `  begun before an older one was due: by ${disorder[Math.floor(disorder.length * 0.99)]?.toFixed(0)} real ms at p99, ${worst.toFixed(0)} at most; target ${ORDER_MS}: ${verdict(worst <= ORDER_MS)}`,
    );
  } finally {
    await stage.close();
    await receiver.stop();
  }
}

const verdict = (met: boolean) => (met ? "met" : "MISSED");

async function waitUntilDelivered(left: () => Promise<number>) {
  const startedMs = performance.now();
  while ((await left()) > 0) {
    if (performance.now() - startedMs > LIMIT_MS) throw new Error("events are still not final");
    await sleep(200);
  }
  return performance.now() - startedMs;
}

function checkAttempts(
  log: readonly LoggedAttempt[],
  found: Record<"delivered" | "exhausted" | "attempts" | "notFinal" | "wrongCount" | "early", number>,
) {
  for (const [index, { eventId, createdAt, number, startedAt, ends }] of log.entries()) {
    const before = number === 1 ? undefined : log[index - 1];
    const dueAt = before === undefined ? createdAt : before.endedAt + DELAYS_MS[before.number! - 1]!;
    if (startedAt < dueAt) found.early++;
    if (number !== null) found.attempts++;
    if (ends !== null) found[ends]++;
    if (ends === "exhausted" && number !== ATTEMPTS_MAX) found.wrongCount++;
    if (log[index + 1]?.eventId !== eventId && ends === null) found.notFinal++;
  }
}

/**
 * For each attempt begun after one due later: how much later, in service time.
 *
 * @param notBefore  from the receiver's Retry-After
 */
function findDisorder(log: readonly LoggedAttempt[], notBefore: number): number[] {
  const attempts = log.map(({ number, createdAt, startedAt }, index) => {
    const before = number === 1 ? undefined : log[index - 1];
    const asked = before === undefined ? 0 : before.endedAt < notBefore ? notBefore : 0;
    const dueAt = before === undefined ? createdAt : before.endedAt + DELAYS_MS[before.number! - 1]!;
    return { startedAt, dueAt: Math.max(dueAt, asked) };
  });
  attempts.sort((a, b) => a.startedAt - b.startedAt);
  let latest = Number.NEGATIVE_INFINITY;
  return attempts.map(({ dueAt }) => {
    latest = Math.max(latest, dueAt);
    return latest - dueAt;
  });
}
