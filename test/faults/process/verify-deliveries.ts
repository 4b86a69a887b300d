import type { ProcessLife } from "./service-process.ts";
import type { StoredAttempt, StoredEvent, StoredRows } from "./stored-rows.ts";
import type { Arrival } from "./torture-receiver.ts";
import type { Problem } from "./verify-records.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
/** The interface's schedule, repeated here to detect a wrong one in the product. */
const DELAYS_MS = [100, 5 * SECOND, 15 * SECOND, 15 * MINUTE, 30 * MINUTE, 60 * MINUTE];
/** Two processes read the same clock at slightly different times. */
const CLOCK_TOLERANCE_MS = 3;
const maxAttempts = (type: string) => (type === "recovery_action" ? 6 : 7);

export interface WireLog {
  journal: readonly Arrival[];
  bodies: ReadonlyMap<string, string>;
  changed: readonly string[];
  lives: readonly ProcessLife[];
}

/** Checks I3 to I6 and I10: compares decisions and sent events with the records of both sides. */
export function verifyDeliveries(rows: StoredRows, wire: WireLog) {
  const problems: Problem[] = [];
  const broken = (invariant: string, says: string) => void problems.push({ invariant, says });
  const toReal = (service: number) => rows.anchor.realAt + (service - rows.anchor.serviceAt) / rows.anchor.rate;
  const attempts = Map.groupBy(rows.attempts, ({ eventId }) => eventId);
  const arrivals = Map.groupBy(wire.journal, ({ eventId }) => eventId);
  const lifeAt = (real: number) => wire.lives.findLastIndex(({ from }) => real >= from - 100);
  const counts = {
    delivered: 0,
    exhausted: 0,
    withdrawn: 0,
    waiting: 0,
    attempts: 0,
    requests: 0,
    doubled: 0,
    after200: 0,
  };
  counts.attempts = rows.attempts.length;
  counts.requests = wire.journal.length;

  verifyDecisions(rows, broken);
  for (const event of rows.events) {
    const logged = attempts.get(event.id) ?? [];
    const seen = arrivals.get(event.id) ?? [];
    counts[verifyFinalState(event, logged, broken)]++;
    if (logged.length === seen.length) verifyOnWire(event, seen, rows.anchor.rate, broken);
    if (seen.length > 0 && wire.bodies.get(event.id) !== event.body)
      broken("I6", `event ${event.id}: sent another body`);
    perLife(event, logged, seen);
  }
  const stored = new Set(rows.events.map(({ id }) => id));
  for (const id of arrivals.keys()) if (!stored.has(id)) broken("I3", `event ${id}: was sent and is not stored`);
  for (const id of wire.changed) broken("I6", `event ${id}: came with two bodies`);

  /** A process may have sent one request more than it logged: the one that its death cut short. */
  function perLife(event: StoredEvent, logged: readonly StoredAttempt[], seen: readonly Arrival[]) {
    const byLife = Map.groupBy(seen, ({ life }) => life);
    const loggedByLife = Map.groupBy(logged, ({ startedAt }) => lifeAt(toReal(startedAt)));
    for (const [life, here] of byLife) {
      const extra = here.length - (loggedByLife.get(life)?.length ?? 0);
      const killed = wire.lives[life]?.end === "killed";
      if (extra > 0) counts.doubled += extra;
      if (extra > 0) counts.after200 += here.at(-1)!.status === 200 ? 1 : 0;
      if (extra > (killed ? 1 : 0))
        broken("I4", `event ${event.id}: ${here.length} requests of process ${life}, ${here.length - extra} logged`);
      for (const [index, next] of here.entries())
        if (index > 0 && here[index - 1]!.endAt! > next.at + CLOCK_TOLERANCE_MS)
          broken("I10", `event ${event.id}: two requests at once from process ${life}`);
    }
    const answered = seen.filter(({ status }) => status !== null).length;
    const withStatus = logged.filter(({ status }) => status !== null).length;
    if (withStatus > answered) broken("I4", `event ${event.id}: ${withStatus} answers logged, ${answered} were given`);
    const delivered = logged.find(({ ends }) => ends === "delivered");
    const late = delivered && seen.find(({ at }) => at > toReal(delivered.endedAt) + CLOCK_TOLERANCE_MS);
    if (late) broken("I4", `event ${event.id}: sent again after a recorded 2xx`);
  }
  return { problems, counts };
}

function verifyDecisions(rows: StoredRows, broken: (invariant: string, says: string) => void) {
  const asks = new Map(rows.events.filter(({ type }) => type === "recovery_action").map((event) => [event.id, event]));
  const decided = rows.actions.filter(({ decidedAt }) => decidedAt !== null);
  for (const { id } of decided) if (!asks.delete(id)) broken("I3", `action ${id}: was decided and has no event`);
  for (const id of asks.keys()) broken("I3", `event ${id}: no decision made it`);
  for (const [caseId, own] of Map.groupBy(rows.events, (event) => event.caseId)) {
    const complete = own.find(({ type }) => type === "complete_dunning");
    const after = own.find(
      ({ type, createdAt }) => type === "recovery_action" && createdAt > (complete?.createdAt ?? Infinity),
    );
    if (after) broken("I7", `event ${after.id}: made after complete_dunning of case ${caseId}`);
  }
}

export function verifyFinalState(
  event: StoredEvent,
  logged: readonly StoredAttempt[],
  broken: (invariant: string, says: string) => void,
) {
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
  broken: (invariant: string, says: string) => void,
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
