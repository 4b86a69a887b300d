import type { Problem, ReportProblem } from "./problems.ts";
import type { Arrival, Receiver } from "./receiver.ts";
import type { Interval, ServiceProcess } from "./service-fleet.ts";
import type { StoredAttempt, StoredEvent, StoredRows } from "./stored-rows.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
/** The interface's schedule, repeated here to detect a wrong one in the product. */
const DELAYS_MS = [100, 5 * SECOND, 15 * SECOND, 15 * MINUTE, 30 * MINUTE, 60 * MINUTE];
const maxAttempts = (type: string) => (type === "recovery_action" ? 6 : 7);

/** All evidence at the end of a run. */
export interface DeliveryEvidence {
  rows: StoredRows;
  journal: readonly Arrival[];
  bodies: ReadonlyMap<string, string>;
  processes: readonly EndedProcess[];
  /** Periods in which the database was down, or some of its connections were cut. */
  outages: readonly Interval[];
  /** When each withdrawal of an event was confirmed; real time. */
  withdrawnAt: ReadonlyMap<string, number>;
}

/** The fate of a process that sent events. */
export type EndedProcess = Pick<ServiceProcess, "startedAt" | "endedAt" | "end" | "sleeps">;

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
  const { rows, processes, outages } = books;
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
    const { pairs, open } = pairAttempts(logged, seen, { toReal, isExcused });
    for (const attempt of logged) {
      const own = pairs.get(attempt);
      const { number, status } = attempt;
      if (own === undefined && status !== null)
        broken("I4", `event ${event.id}: attempt ${number} is logged with ${status}, but no request arrived`);
      if (own !== undefined && own.status !== status)
        broken(
          "I4",
          `event ${event.id}: attempt ${number} got ${own.status ?? "no answer"} and is logged with ${status ?? "none"}`,
        );
    }
    for (const arrival of open) {
      counts.cutShort++;
      if (isExcused(arrival)) continue;
      const { process, at, status } = arrival;
      broken(
        "I10",
        `event ${event.id}: a request of process ${process} at ${at}, answered with ${status ?? "nothing"}, is not in the log, and nothing had happened to that process; ${describeRequests(seen, open, processes)}`,
      );
    }
  }

  /** Whether its process or the database had a fault before the attempt can have been recorded. */
  function isExcused(arrival: Arrival) {
    const process = processes[arrival.process];
    if (process?.end === "killed" && isAround(arrival, process.endedAt!, process.endedAt!)) return true;
    return wasCutOff(arrival);
  }

  /** Whether its process slept or had no database, so that it could not know what others did. */
  function wasCutOff(arrival: Arrival) {
    const sleeps = processes[arrival.process]?.sleeps ?? [];
    return (
      sleeps.some(({ from, to }) => isAround(arrival, from, to + SLEEP_TOLERANCE_MS)) ||
      outages.some(({ from, to }) => isAround(arrival, from, to + OUTAGE_TOLERANCE_MS))
    );
  }

  /** Whether the attempt of this request was under way or not yet recorded in the period. */
  function isAround({ at, endAt }: Arrival, from: number, to: number) {
    return from <= (endAt ?? at) + RECORDING_TOLERANCE_MS && to >= at;
  }

  /**
   * Checks that an event never has two concurrent requests, unless the process of one of them slept or its connections were cut.
   */
  function alone(event: StoredEvent, seen: readonly Arrival[]) {
    for (const [index, next] of seen.entries()) {
      const before = seen[index - 1];
      if (before === undefined || (before.endAt ?? 0) <= next.at + CLOCK_TOLERANCE_MS) continue;
      if (isExcused(before) || isExcused(next)) continue;
      broken("I10", `event ${event.id}: sent by processes ${before.process} and ${next.process} at once`);
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
        if (!wasCutOff(arrival)) broken("I4", `event ${event.id}: sent again after a recorded 2xx`);
      }
      const late = arrival.at - withdrawnAt - WITHDRAWAL_TOLERANCE_MS;
      const slept = processes[arrival.process]?.sleeps.reduce(
        (sum, { from, to }) => sum + Math.max(0, Math.min(to, arrival.at) - Math.max(from, withdrawnAt)),
        0,
      );
      if (late > (slept ?? 0))
        broken("I7", `event ${event.id}: sent ${arrival.at - withdrawnAt} ms after it was withdrawn`);
    }
  }
}

/**
 * Assigns to each logged attempt the request that it made. Attempts can follow each other within a millisecond, and a former
 * owner that wakes up can send an event at the same time as the present one. So several requests may fit an attempt, and as many
 * attempts as possible get one with their status.
 */
export function pairAttempts(
  logged: readonly StoredAttempt[],
  seen: readonly Arrival[],
  { toReal, isExcused }: { toReal(service: number): number; isExcused(arrival: Arrival): boolean },
) {
  const owners = new Map<Arrival, StoredAttempt>();
  const windowed = ({ startedAt, endedAt }: StoredAttempt) =>
    seen.filter(({ at }) => at >= toReal(startedAt) - CLOCK_TOLERANCE_MS && at <= toReal(endedAt) + CLOCK_TOLERANCE_MS);
  // Requests that must be in the log come first.
  const fitting = (attempt: StoredAttempt) =>
    windowed(attempt)
      .filter(({ status }) => status === attempt.status)
      .sort((a, b) => Number(isExcused(a)) - Number(isExcused(b)) || a.at - b.at);
  const assign = (attempt: StoredAttempt, tried: Set<Arrival>): boolean =>
    fitting(attempt).some((arrival) => {
      if (tried.has(arrival)) return false;
      tried.add(arrival);
      const other = owners.get(arrival);
      if (other !== undefined && !assign(other, tried)) return false;
      owners.set(arrival, attempt);
      return true;
    });
  const rest = logged.filter((attempt) => !assign(attempt, new Set()));
  for (const attempt of rest) {
    const other = windowed(attempt).find((arrival) => !owners.has(arrival));
    if (other !== undefined) owners.set(other, attempt);
  }
  const open = new Set(seen.filter((arrival) => !owners.has(arrival)));
  return { pairs: new Map([...owners].map(([arrival, attempt]) => [attempt, arrival])), open };
}

/** Checks that every sent event is stored, had one body, and kept to the cap of its merchant. */
export function verifyReceiver(
  { bodies, changed, overCap }: Pick<Receiver, "bodies" | "changed" | "overCap">,
  stored: ReadonlySet<string>,
  broken: ReportProblem,
) {
  for (const id of bodies.keys()) if (!stored.has(id)) broken("I3", `event ${id}: was sent and is not stored`);
  for (const id of changed) broken("I6", `event ${id}: came with two bodies`);
  for (const says of overCap) broken("I13", says);
}

/** Describes the requests of an event and the fates of their processes in a line, for debugging. */
function describeRequests(seen: readonly Arrival[], open: ReadonlySet<Arrival>, processes: readonly EndedProcess[]) {
  const requests = seen.map(
    ({ process, at, endAt, status }, index) =>
      `process ${process} ${at} to ${endAt} ${status}${open.has(seen[index]!) ? " (not logged)" : ""}`,
  );
  const fates = [...new Set(seen.map(({ process }) => process))].map((number) => {
    const { startedAt, endedAt, end, sleeps } = processes[number]!;
    const slept = sleeps.map(({ from, to }) => ` slept ${from} to ${to}`).join("");
    return `process ${number} started ${startedAt}${slept} ${end} ${endedAt}`;
  });
  return `all of them: ${[...requests, ...fates].join(", ")}`;
}

/** Checks I3 to I5 in the log of one event. Returns how it ended. */
export function verifyFinalState(event: StoredEvent, logged: readonly StoredAttempt[], broken: ReportProblem) {
  const last = logged.at(-1);
  const max = maxAttempts(event.type);
  const numbers = logged.map(({ number }) => number).join(" ");
  if (numbers !== logged.map((_, index) => index + 1).join(" ")) broken("I4", `event ${event.id}: attempts ${numbers}`);
  if (logged.slice(0, -1).some(({ ends }) => ends !== null)) broken("I4", `event ${event.id}: attempts after its end`);
  for (const [index, attempt] of logged.entries()) {
    const due = index === 0 ? event.createdAt : logged[index - 1]!.endedAt + DELAYS_MS[index - 1]!;
    if (attempt.startedAt < due)
      broken("I5", `event ${event.id}: attempt ${index + 1} was ${Math.round(due - attempt.startedAt)} ms early`);
  }
  if (event.dueAt !== null) {
    if (last?.ends || event.withdrawnAt !== null) broken("I3", `event ${event.id}: ended and still waiting`);
    if (event.counted !== logged.length)
      broken("I4", `event ${event.id}: ${event.counted} attempts counted, ${logged.length} logged`);
    return "waiting";
  }
  if (last?.ends === "exhausted") {
    if (logged.length !== max) broken("I4", `event ${event.id}: exhausted after ${logged.length} of ${max} attempts`);
    return "exhausted";
  }
  if (last?.ends === "delivered") return "delivered";
  if (event.withdrawnAt === null)
    broken("I3", `event ${event.id}: neither ended nor waiting after ${logged.length} attempts`);
  return "withdrawn";
}

/** Checks the same schedule by the receiver's clock, including its Retry-After. */
export function verifyOnWire(
  event: StoredEvent,
  seen: readonly Pick<Arrival, "at" | "endAt" | "cut" | "retryAfterMs">[],
  rate: number,
  broken: ReportProblem,
) {
  for (const [index, next] of seen.entries()) {
    const before = seen[index - 1];
    // Without an answer, the sender's timeout ended the attempt, and the receiver sees this too late.
    if (before === undefined || before.endAt === null || before.cut) continue;
    const due = before.endAt + Math.max(DELAYS_MS[index - 1]!, before.retryAfterMs) / rate;
    if (next.at < due - CLOCK_TOLERANCE_MS)
      broken("I5", `event ${event.id}: request ${index + 1} came ${(due - next.at).toFixed(1)} ms early`);
  }
}
