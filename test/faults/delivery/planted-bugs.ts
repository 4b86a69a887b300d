import type { SourcePatch } from "../../patched-copy.ts";
import type { Fault } from "./delivery-faults.ts";

/** A plausible mistake, as a change of the source text. */
export interface PlantedBug {
  name: string;
  patches: SourcePatch[];
  /** Faults under which it shows. */
  faults: readonly Fault[];
  /** Whether a simulated crash at some statement must show it too. */
  statements?: true;
}

const ATTEMPT = "src/delivery/send-attempt.ts";
const DELIVERER = "src/delivery/deliverer.ts";
const LANE = "src/delivery/merchant-lane.ts";
const LEASES = "src/delivery/leases.ts";
const RECORDER = "src/delivery/attempt-recorder.ts";
const RECORDED = "src/tables/delivery-attempts.ts";

const RETRY_IN_MEMORY = `if (attempt.ends === null && attempt.number < 4) {
      recorder.add({ ...attempt, dueAt: new Date(attempt.dueAt!.getTime() + 400 * 86_400_000) });
      const next = { ...delivery, attempts: attempt.number, dueAt: attempt.dueAt! };
      setTimeout(() => begin(lane, next, epoch).then(() => advanceAll(lane), logCrash), 200);
    } else recorder.add(attempt);`;

const LOG_LATER = `
const LOG_LATER = prepared(
  "log_later",
  \`with e as (select e.* from (select \${unnestColumns(ENDED_COLUMNS, 1)}) e
     join bucket_leases l on l.bucket = e.bucket and l.epoch = e.epoch)
   insert into delivery_attempts (\${LOG}) select \${LOG_OF_ATTEMPT} from e on conflict do nothing\`,
);
export const logLater = (tx: Tx, ended: readonly EndedAttempt[]) => tx.run(LOG_LATER, columnValues(ended, ENDED_COLUMNS));
`;

/**
 * Returns the source text of a statement that records attempts, from its parameters to the deliveries that these attempts end.
 */
const endedOf = (columns: string) => `unnestColumns(${columns}, 3)}) e
     join bucket_leases l on l.bucket = e.bucket and l.epoch = e.epoch
   ), ended as (
     delete from deliveries d using e
     where d.merchant_id = any($2::uuid[]) and d.merchant_id = e.merchant_id and d.event_id = e.event_id and d.round = e.round`;

/**
 * Planted one at a time; each must be caught. A patch that no longer fits the source is an error: update it with the code it
 * changes.
 */
export const PLANTED_DELIVERY_BUGS: readonly PlantedBug[] = [
  {
    name: "attempts are counted when they begin",
    patches: [
      {
        file: DELIVERER,
        find: "import type { Database } from",
        replace: "import { type Database, prepared } from",
      },
      {
        file: DELIVERER,
        find: "const STOP_GRACE_MS = 31_000;",
        replace: `const STOP_GRACE_MS = 31_000;
const CLAIM = prepared(
  "claim",
  "update deliveries set attempts = attempts + 1 where merchant_id = $1 and event_id = $2 and attempts < attempts_max - 1",
);`,
      },
      {
        file: DELIVERER,
        find: "const end = limiter.begin(lane);",
        replace:
          "const end = limiter.begin(lane);\n    await db.run(CLAIM, [merchant.id, delivery.eventId]).catch(() => {});",
      },
      ...["ENDED_COLUMNS", "RECORDED_COLUMNS"].map((columns) => ({
        file: RECORDED,
        find: `${endedOf(columns)} and d.attempts = e.number - 1`,
        replace: `${endedOf(columns)} and d.attempts >= e.number - 1`,
      })),
      {
        file: RECORDED,
        find: "and d.attempts = e.number - 1\n       and e.ends is null",
        replace: "and d.attempts >= e.number - 1\n       and e.ends is null",
      },
    ],
    faults: ["kill", "kill", "kill", "kill"],
    statements: true,
  },
  {
    name: "no fencing: what a former owner writes counts",
    patches: [
      ...["ENDED_COLUMNS", "RECORDED_COLUMNS"].map((columns) => ({
        file: RECORDED,
        find: endedOf(columns),
        replace: endedOf(columns).replace(" and l.epoch = e.epoch", ""),
      })),
      {
        file: RECORDED,
        find: "l.bucket = e.bucket and l.epoch = e.epoch\n     join events v",
        replace: "l.bucket = e.bucket\n     join events v",
      },
    ],
    faults: Array<Fault>(10).fill("cut"),
  },
  {
    name: "leases shorter than their renewal",
    patches: [
      {
        file: LEASES,
        find: "{ leaseMs: 60_000, renewMs: 10_000, attemptMs: 33_000, statementMs: 5_000 }",
        replace: "{ leaseMs: 3_000, renewMs: 10_000, attemptMs: 500, statementMs: 5_000 }",
      },
    ],
    faults: ["kill", "kill"],
  },
  {
    name: "`>` for `>=`: one attempt more than the schedule has",
    patches: [{ file: ATTEMPT, find: "number >= delivery.attemptsMax", replace: "number > delivery.attemptsMax" }],
    faults: ["kill"],
  },
  {
    name: "the number of attempts of another type",
    patches: [
      { file: "src/domain/event.ts", find: `=== "recovery_action" ? 6 : 7`, replace: `=== "recovery_action" ? 7 : 7` },
    ],
    faults: ["kill"],
  },
  {
    name: "the short retries are known to memory only",
    patches: [{ file: DELIVERER, find: "recorder.add(attempt);", replace: RETRY_IN_MEMORY }],
    faults: ["kill", "kill"],
  },
  {
    name: "rows read ahead are sent whenever there is room, withdrawn or not",
    patches: [{ file: LANE, find: "const MAX_READ_AHEAD_MS = 1_000;", replace: "const MAX_READ_AHEAD_MS = 60_000;" }],
    faults: ["kill", "sleep", "kill", "sleep"],
  },
  {
    name: "a 2xx whose body does not end is a failure",
    patches: [
      {
        file: "src/delivery/https/https-sender.ts",
        find: "if (connection.exchange !== null) endWithout(connection, connection.exchange);",
        replace: `if (connection.exchange !== null) fail(connection, connection.exchange, "slow body");`,
      },
    ],
    faults: ["kill"],
  },
  {
    name: "sent once more after a success",
    patches: [
      {
        file: DELIVERER,
        find: "recorder.add(attempt);",
        replace: `recorder.add(attempt);
    if (attempt.success && attempt.eventId.endsWith("7")) void sendAttempt(merchant, target, delivery, epoch, send, ports);`,
      },
    ],
    faults: ["kill"],
  },
  {
    name: "the log is written after the transaction",
    patches: [
      {
        file: RECORDED,
        find: `insert into delivery_attempts (\${LOG}) select \${LOG} from ended union all select * from moved returning event_id`,
        replace: "select event_id from ended union all select event_id from moved",
      },
      {
        file: RECORDED,
        find: `insert into delivery_attempts (\${LOG}) select \${LOG} from ended returning event_id`,
        replace: "select event_id from ended",
      },
      {
        file: RECORDED,
        find: "const RECORD_WITHDRAWN = prepared(",
        replace: `${LOG_LATER}\nconst RECORD_WITHDRAWN = prepared(`,
      },
      { file: RECORDER, find: "EndedAttempt, recordAttempts,", replace: "EndedAttempt, logLater, recordAttempts," },
      {
        file: RECORDER,
        find: "for (const attempt of batch) refusedAttempts.delete(attempt);",
        replace:
          "await sleep(20);\n    await logLater(db, batch);\n    for (const attempt of batch) refusedAttempts.delete(attempt);",
      },
    ],
    faults: ["kill", "postgres", "kill", "postgres"],
  },
  {
    name: "delays run from the start of the failed attempt",
    patches: [
      {
        file: ATTEMPT,
        find: "nextAttemptDueAt(number, endedAt, retryAfterMs)",
        replace: "nextAttemptDueAt(number, startedAt, retryAfterMs)",
      },
    ],
    faults: ["kill"],
    statements: true,
  },
  {
    name: "a delay of the schedule is a minute short",
    patches: [{ file: "src/delivery/attempt-schedule.ts", find: "15 * MINUTE", replace: "14 * MINUTE" }],
    faults: ["kill"],
    statements: true,
  },
  {
    name: "Retry-After is not heard",
    patches: [
      {
        file: ATTEMPT,
        find: "parseRetryAfterMs(reply.retryAfter, ports.realNow())",
        replace: "0 * parseRetryAfterMs(reply.retryAfter, ports.realNow())",
      },
    ],
    faults: ["kill"],
  },
  {
    name: "what has ended is forgotten when the database is away",
    patches: [{ file: RECORDER, find: "pieces.unshift(writing);", replace: "" }],
    faults: ["postgres", "restart", "postgres", "restart"],
    statements: true,
  },
  {
    name: "each attempt has a body of its own",
    patches: [
      {
        file: ATTEMPT,
        find: "body: delivery.body,",
        replace: `body: delivery.body.replace(/}$/, ',"attempt":' + (delivery.attempts + 1) + "}"),`,
      },
    ],
    faults: ["kill"],
  },
  {
    name: "one request more than the cap",
    patches: [
      {
        file: LANE,
        find: "lane.inFlight < lane.merchant.webhookCap",
        replace: "lane.inFlight <= lane.merchant.webhookCap",
      },
    ],
    faults: ["kill"],
  },
  {
    name: "a process that is told to stop waits for nothing",
    patches: [{ file: DELIVERER, find: "while (outstanding() > 0 &&", replace: "while (outstanding() < 0 &&" }],
    faults: ["end", "end", "end"],
  },
  {
    name: "buckets are given up with attempts on the wire",
    patches: [
      {
        file: LEASES,
        find: "sorted.slice(fairCount).filter((bucket) => !isBusy(bucket))",
        replace: "sorted.slice(fairCount)",
      },
    ],
    faults: ["kill", "kill", "kill", "kill"],
  },
];
