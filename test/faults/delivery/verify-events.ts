import type { StoredAttempt, StoredEvent, StoredRows } from "../process/stored-rows.ts";
import { verifyFinalState, verifyOnWire } from "../process/verify-deliveries.ts";
import type { Problem } from "../process/verify-records.ts";
import type { ProcessLife } from "./delivery-fleet.ts";
import type { Arrival } from "./event-receiver.ts";

/** All evidence at the end of a run. */
export interface DeliveryEvidence {
  rows: StoredRows;
  journal: readonly Arrival[];
  bodies: ReadonlyMap<string, string>;
  lives: readonly ProcessLife[];
  outages: readonly { from: number; to: number }[];
  committed: ReadonlySet<string>;
  withdrawnAt: ReadonlyMap<string, number>;
}

/** Tolerance between the clocks of processes on one machine, read at slightly different times, in milliseconds. */
const CLOCK_TOLERANCE_MS = 4;
/** After a status line the sender listens for two more seconds. The end is then recorded when the database is up. */
const RECORDING_TOLERANCE_MS = 4_000;
/** After an outage a recorder may pause for so long, and leases are taken again. */
const OUTAGE_TOLERANCE_MS = 8_000;
const SLEEP_TOLERANCE_MS = 5_000;
/** A row that was read ahead can be sent for at most a second after its withdrawal, plus the time onto the wire. */
const WITHDRAWAL_TOLERANCE_MS = 2_000;

/** Checks I3 to I7 and I10 for one merchant's events: compares the committed and sent events with the records of both sides. */
export function verifyEvents(books: DeliveryEvidence) {
  const { rows, lives, outages } = books;
  const problems: Problem[] = [];
  const broken = (invariant: string, says: string) => void problems.push({ invariant, says });
  const toReal = (service: number) => rows.anchor.realAt + (service - rows.anchor.serviceAt) / rows.anchor.rate;
  const attempts = Map.groupBy(rows.attempts, ({ eventId }) => eventId);
  const arrivals = Map.groupBy(books.journal, ({ eventId }) => eventId);
  const counts = {
    delivered: 0,
    exhausted: 0,
    withdrawn: 0,
    waiting: 0,
    attempts: 0,
    requests: 0,
    cutShort: 0,
    afterSuccess: 0,
  };
  counts.attempts = rows.attempts.length;
  counts.requests = books.journal.length;

  for (const event of rows.events) {
    const logged = attempts.get(event.id) ?? [];
    const seen = arrivals.get(event.id) ?? [];
    const state = verifyFinalState(event, logged, broken);
    counts[state]++;
    if (state === "waiting") broken("I3", `event ${event.id}: is not final`);
    const body = books.bodies.get(event.id);
    if (body !== undefined && body !== event.body) broken("I6", `event ${event.id}: sent another body`);
    if (logged.length === seen.length) verifyOnWire(event, seen, rows.anchor.rate, broken);
    pair(event, logged, seen);
    alone(event, seen);
    afterEnd(event, logged, seen);
  }
  return { problems, counts };

  /** Checks that every request is in the log with the same content, except for requests that were cut short. */
  function pair(event: StoredEvent, logged: readonly StoredAttempt[], seen: readonly Arrival[]) {
    const open = new Set(seen);
    for (const { number, startedAt, endedAt, status } of logged) {
      const [from, to] = [toReal(startedAt) - CLOCK_TOLERANCE_MS, toReal(endedAt) + CLOCK_TOLERANCE_MS];
      const within = [...open].filter(({ at }) => at >= from && at <= to);
      // Of two candidates, chooses the one with this answer that came when the attempt ended. A former owner that wakes up can
      // send an event at the same time as the present one.
      const answered = within.filter((arrival) => arrival.status === status);
      const distance = ({ at, endAt }: Arrival) => Math.abs(toReal(endedAt) - (endAt ?? at));
      const own = answered.sort((a, b) => distance(a) - distance(b))[0] ?? within[0];
      if (own === undefined) {
        if (status !== null)
          broken("I4", `event ${event.id}: attempt ${number} is logged with ${status}, but no request arrived`);
        continue;
      }
      open.delete(own);
      if (own.status !== status)
        broken(
          "I4",
          `event ${event.id}: attempt ${number} got ${own.status ?? "no answer"} and is logged with ${status ?? "none"}`,
        );
    }
    for (const arrival of open) {
      counts.cutShort++;
      if (isExcused(arrival)) continue;
      const { life, at, status } = arrival;
      broken(
        "I10",
        `event ${event.id}: a request of process ${life} at ${at}, answered with ${status ?? "nothing"}, is not in the log, and nothing had happened to that process; ${describeRequests(seen, open, lives)}`,
      );
    }
  }

  /** Whether its process or the database had a fault before the attempt can have been recorded. */
  function isExcused({ life: number, at, endAt }: Arrival) {
    const life = lives[number];
    if (life === undefined) return false;
    const until = (endAt ?? at) + RECORDING_TOLERANCE_MS;
    const meets = (from: number, to: number) => from <= until && to >= at;
    return (
      (life.end === "killed" && meets(life.endedAt!, life.endedAt!)) ||
      life.sleeps.some(({ from, to }) => meets(from, to + SLEEP_TOLERANCE_MS)) ||
      outages.some(({ from, to }) => meets(from, to + OUTAGE_TOLERANCE_MS))
    );
  }

  /**
   * Checks that an event never has two concurrent requests, unless the process of one of them slept or its connections were cut.
   */
  function alone(event: StoredEvent, seen: readonly Arrival[]) {
    for (const [index, next] of seen.entries()) {
      const before = seen[index - 1];
      if (before === undefined || (before.endAt ?? 0) <= next.at + CLOCK_TOLERANCE_MS) continue;
      if (isExcused(before) || isExcused(next)) continue;
      broken("I10", `event ${event.id}: sent by processes ${before.life} and ${next.life} at once`);
    }
  }

  /**
   * Checks that nothing is sent after a recorded 2xx or a withdrawal, except by a process that slept meanwhile, which is counted.
   */
  function afterEnd(event: StoredEvent, logged: readonly StoredAttempt[], seen: readonly Arrival[]) {
    const delivered = logged.find(({ ends }) => ends === "delivered");
    const deliveredAt = delivered === undefined ? Number.POSITIVE_INFINITY : toReal(delivered.endedAt);
    const withdrawnAt = books.withdrawnAt.get(event.id) ?? Number.POSITIVE_INFINITY;
    for (const arrival of seen) {
      if (arrival.at > deliveredAt + CLOCK_TOLERANCE_MS) {
        counts.afterSuccess++;
        if (!isExcused(arrival)) broken("I4", `event ${event.id}: sent again after a recorded 2xx`);
      }
      const late = arrival.at - withdrawnAt - WITHDRAWAL_TOLERANCE_MS;
      const slept = lives[arrival.life]?.sleeps.reduce(
        (sum, { from, to }) => sum + Math.max(0, Math.min(to, arrival.at) - Math.max(from, withdrawnAt)),
        0,
      );
      if (late > (slept ?? 0))
        broken("I7", `event ${event.id}: sent ${arrival.at - withdrawnAt} ms after it was withdrawn`);
    }
  }
}

/** Describes the requests of an event and the fates of their processes in a line, for debugging. */
function describeRequests(seen: readonly Arrival[], open: ReadonlySet<Arrival>, lives: readonly ProcessLife[]) {
  const requests = seen.map(
    ({ life, at, endAt, status }, index) =>
      `process ${life} ${at} to ${endAt} ${status}${open.has(seen[index]!) ? " (not logged)" : ""}`,
  );
  const processes = [...new Set(seen.map(({ life }) => life))].map((number) => {
    const { startedAt, endedAt, end, sleeps } = lives[number]!;
    const slept = sleeps.map(({ from, to }) => ` slept ${from} to ${to}`).join("");
    return `process ${number} started ${startedAt}${slept} ${end} ${endedAt}`;
  });
  return `all of them: ${[...requests, ...processes].join(", ")}`;
}
