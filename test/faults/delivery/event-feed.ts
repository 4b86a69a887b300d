import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { integerBetween, keyedRandom, pickWeighted } from "../../../simulator/world/keyed-random.ts";
import { buildEnvelope, EVENT_TYPES, type Event } from "../../../src/domain/event.ts";
import type { Merchant } from "../../../src/domain/merchant.ts";
import { type Database, prepared } from "../../../src/postgres/database.ts";
import { sqlState } from "../../../src/postgres/database-errors.ts";
import { openCases } from "../../../src/tables/cases.ts";
import { insertEvents, withdrawEvents } from "../../../src/tables/events.ts";

/** Simulates the deciding side of the service: commits events up to a limit, and withdraws some of them. */
export interface EventFeed {
  /** Whether all events are committed. `allow` limits how many may be. */
  done(): boolean;
  /** Sets the share of all events that may be committed from now on, 0 to 1. */
  allow(share: number): void;
  /** Whether all allowed events are committed and none is due. */
  isIdle(): Promise<boolean>;
  /** Ids of events whose commit was confirmed. */
  committed: Set<string>;
  /** When an event's withdrawal was confirmed: real time after the commit. */
  withdrawnAt: Map<string, number>;
  stop(): void;
}

interface Options {
  seed: number;
  db: Database;
  merchants: readonly Merchant[];
  /** The number of slow merchants, which come first. They get few events, and many of those are withdrawn. */
  sluggish: number;
  events: number;
  now(): Date;
  newId(): string;
}

const BURST_EVENTS = 50;
/** About as much as the slow merchants accept, so they always have events in flight and read ahead. */
const SLOW_BURST_EVENTS = 10;
const SLOW_EVERY_MS = 1_500;
/** With more due events than this no event is added, because an ever-growing queue shows nothing. */
const DUE_MAX = 2_000;
const POLL_MS = 100;
const WITHDRAWN_PER_BURST = 3;
const TYPES = [
  [EVENT_TYPES[0], 80],
  [EVENT_TYPES[1], 10],
  [EVENT_TYPES[2], 10],
] as const;
const DAY_MS = 86_400_000;

const DUE = prepared("feeding_due", "select count(*)::int as due from deliveries where due_at <= $1");
const UNIQUE_VIOLATION = "23505";

export function startEventFeed({ seed, db, merchants, sluggish, events, now, newId }: Options): EventFeed {
  const committed = new Set<string>();
  const withdrawnAt = new Map<string, number>();
  const recent = new Map<string, string[]>(merchants.map(({ id }) => [id, []]));
  let stopped = false;
  let made = 0;
  let share = 0;
  let bursts = 0;
  let slowFedAt = 0;
  let looks = 0;

  function newEvent(): Event {
    const [id, caseId] = [newId(), newId()];
    const type = pickWeighted(keyedRandom(seed, "type", made), TYPES);
    const invoiceId = `inv_${made++}_${randomBytes(4).toString("hex")}`;
    const createdAt = now();
    return { id, caseId, invoiceId, type, body: buildEnvelope(id, type, createdAt, { invoiceId }), createdAt };
  }

  async function burst() {
    const number = bursts++;
    const isSlow = Date.now() - slowFedAt > SLOW_EVERY_MS;
    if (isSlow) slowFedAt = Date.now();
    const draw = keyedRandom(seed, "who", number);
    const merchant = merchants[isSlow ? number % sluggish : integerBetween(draw, sluggish, merchants.length - 1)]!;
    const fresh = Array.from({ length: Math.min(isSlow ? SLOW_BURST_EVENTS : BURST_EVENTS, events - made) }, newEvent);
    const cases = fresh.map(({ caseId, invoiceId, createdAt }) => ({
      id: caseId,
      invoiceId,
      customerId: "cus_1",
      subscriptionId: null,
      amount: 900,
      currency: "EUR",
      unpaidAt: createdAt,
      windowEndsAt: new Date(createdAt.getTime() + 28 * DAY_MS),
      budget: 8,
      arm: "dunlin" as const,
      openedAt: createdAt,
    }));
    await insisting(async () => {
      await db.transaction(async (tx) => {
        await openCases(tx, merchant.id, cases, newId());
        await insertEvents(tx, merchant.id, fresh);
      });
    });
    for (const { id } of fresh) committed.add(id);
    recent.set(
      merchant.id,
      fresh.map(({ id }) => id),
    );
  }

  /** Withdraws some of the last events of a merchant, usually a slow one whose sender has already read them. */
  async function takeBack() {
    const number = looks++;
    const last = (keyedRandom(seed, "slow?", number) < 0.6 ? sluggish : merchants.length) - 1;
    const { id } = merchants[integerBetween(keyedRandom(seed, "back", number), 0, Math.max(0, last))]!;
    const ids = recent.get(id)!.splice(-WITHDRAWN_PER_BURST);
    if (ids.length === 0) return;
    const gone = await db.transaction((tx) => withdrawEvents(tx, id, [], ids, now()));
    for (const eventId of gone) withdrawnAt.set(eventId, Date.now());
  }

  /** Repeats until it is committed. Keys detect a commit whose reply was lost. */
  async function insisting(work: () => Promise<void>) {
    while (!stopped)
      try {
        return await work();
      } catch (error) {
        if (sqlState(error) === UNIQUE_VIOLATION) return;
        await sleep(200);
      }
  }

  /** Returns infinity while the database does not answer. */
  async function countDue(): Promise<number> {
    const found = await db.run<{ due: number }>(DUE, [now()]).catch(() => null);
    return found === null ? Number.POSITIVE_INFINITY : found.rows[0]!.due;
  }

  async function feed() {
    while (!stopped && made < events) {
      const room = DUE_MAX - (await countDue());
      for (let left = room; left > 0 && made < events * share && !stopped; left -= BURST_EVENTS) await burst();
      await takeBack().catch(() => {});
      await sleep(POLL_MS);
    }
  }
  void feed();

  return {
    done: () => committed.size >= events,
    allow(next) {
      share = next;
    },
    isIdle: async () => committed.size >= events * share && (await countDue()) === 0,
    committed,
    withdrawnAt,
    stop() {
      stopped = true;
    },
  };
}
