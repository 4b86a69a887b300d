import { setTimeout as sleep } from "node:timers/promises";
import { integerBetween, keyedRandom, pickWeighted } from "../../../simulator/world/keyed-random.ts";
import {
  createManualClock,
  makeDeliverer,
  makeEvents,
  makeMerchant,
  SECRET_KEYS,
} from "../../../src/delivery/deliverer.fixture.ts";
import type { Reply } from "../../../src/delivery/https/exchange.ts";
import type { OutgoingRequest } from "../../../src/delivery/https/https-sender.ts";
import { EVENT_TYPES, type Event } from "../../../src/domain/event.ts";
import type { Merchant } from "../../../src/domain/merchant.ts";
import { type Database, prepared } from "../../../src/postgres/database.ts";
import { withdrawEvents } from "../../../src/tables/events.ts";
import { seal } from "../../../src/tables/secret-box.ts";
import { type CrashingDatabase, type CrashPoint, createCrashingDatabase } from "./crashing-database.ts";

/** A request as the merchants' endpoint saw it; times are service time, in milliseconds. */
export interface SeenRequest {
  eventId: string;
  body: string;
  at: number;
  endAt: number;
  status: number | null;
  retryAfterMs: number;
  cut: boolean;
}

/** The results of some events under one fault. */
export interface EventStory {
  merchants: Merchant[];
  events: Event[];
  seen: SeenRequest[];
  withdrawnAt: Map<string, number>;
  /** Statements of the first process. */
  statements: number;
  /** The statement with the fault; null if the process finished before. */
  hit: string | null;
  died: boolean;
  /** Why the run stopped making progress; null if it finished. */
  stuck: string | null;
}

const MERCHANTS = 2;
const EVENTS = 3;
const RETRY_AFTER_S = 40;
const REPLIES = [
  ["ok", 35],
  ["refuse", 40],
  ["busy", 10],
  ["reset", 15],
] as const;
/** Share of permanently refused events, which become exhausted. */
const PERMANENT_REFUSAL_RATE = 0.3;
const WITHDRAWN_RATE = 0.15;
const REPLY_MS = [1, 20_000] as const;
const STUCK_MS = 5_000;

const CLEAR_TABLES = ["delivery_attempts", "deliveries", "events", "cases", "merchants"].map((table) =>
  prepared(`crashes_clear_${table}`, `delete from ${table}`),
);
const NEXT_DUE_DELIVERY = prepared("crashes_next", "select min(due_at) as at from deliveries");

/**
 * Runs some events from their creation until all of them are final, in virtual time. A first process delivers until the fault
 * hits its statement number `at`. If that ends it, another process follows.
 */
export async function runEvents(db: Database, seed: number, at: number, mishap: CrashPoint): Promise<EventStory> {
  for (const statement of CLEAR_TABLES) await db.run(statement);
  const { ports, wait } = createManualClock();
  const { merchants, events } = await createEvents(db, seed, ports.now());
  const order = new Map(events.map(({ id }, index) => [id, index]));
  const story: EventStory = {
    ...{ merchants, events, seen: [], withdrawnAt: new Map(), statements: 0, hit: null, died: false, stuck: null },
  };
  const counts = new Map<string, number>();

  const sendOf = (process: CrashingDatabase) => async (request: OutgoingRequest) => {
    if (process.isDead()) return new Promise<never>(() => {});
    const eventId = (JSON.parse(request.body) as { id: string }).id;
    const index = order.get(eventId)!;
    const count = (counts.get(eventId) ?? 0) + 1;
    counts.set(eventId, count);
    const isDead = keyedRandom(seed, "dead", index) < PERMANENT_REFUSAL_RATE;
    const reply = isDead ? "refuse" : pickWeighted(keyedRandom(seed, "reply", index, count), REPLIES);
    const seen: SeenRequest = {
      eventId,
      body: request.body,
      at: ports.now().getTime(),
      endAt: 0,
      status: null,
      retryAfterMs: 0,
      cut: false,
    };
    story.seen.push(seen);
    // Others begin at the same time; the clock moves for all of them.
    await null;
    wait(integerBetween(keyedRandom(seed, "ms", index, count), ...REPLY_MS));
    seen.endAt = ports.now().getTime();
    if (reply === "reset") return { outcome: "failed", error: "reset" } satisfies Reply;
    seen.status = reply === "ok" ? 200 : reply === "busy" ? 503 : 500;
    if (reply === "busy") seen.retryAfterMs = RETRY_AFTER_S * 1_000;
    const retryAfter = reply === "busy" ? String(RETRY_AFTER_S) : null;
    return { outcome: "response", status: seen.status, retryAfter, text: null } satisfies Reply;
  };

  /** Runs one process until it dies or no event is left. */
  async function live(process: CrashingDatabase) {
    const deliverer = makeDeliverer({ db: process.db, ports, send: sendOf(process) });
    let idleSince = performance.now();
    while (!process.isDead()) {
      const round = deliverer.deliverDue().catch(() => 0);
      const sent = await Promise.race([round, process.died.then(() => 0)]);
      if (sent > 0) idleSince = performance.now();
      if (process.isDead()) break;
      await takeBack();
      const next = (await db.run<{ at: Date | null }>(NEXT_DUE_DELIVERY)).rows[0]!.at;
      if (next === null) break;
      const aheadMs = next.getTime() - ports.now().getTime();
      if (aheadMs > 0) {
        wait(aheadMs);
        idleSince = performance.now();
      } else if (sent === 0) await sleep(2);
      if (performance.now() - idleSince > STUCK_MS) {
        story.stuck = `nothing was sent for ${STUCK_MS} ms, and something is due`;
        break;
      }
    }
    await deliverer.stop(0);
    await process.bury();
  }

  /** Withdraws events as an ingest in another process does. */
  async function takeBack() {
    for (const [index, { id }] of events.entries()) {
      const chosen = keyedRandom(seed, "withdrawn", index) < WITHDRAWN_RATE && (counts.get(id) ?? 0) >= 2;
      if (!chosen || story.withdrawnAt.has(id)) continue;
      const merchant = merchants[index % MERCHANTS]!;
      const gone = await db.transaction((tx) => withdrawEvents(tx, merchant.id, [], [id], ports.now()));
      if (gone.length > 0) story.withdrawnAt.set(id, ports.now().getTime());
    }
  }

  const first = createCrashingDatabase(db, at, mishap);
  await live(first);
  story.statements = first.count();
  story.hit = first.hit();
  story.died = story.hit !== null && mishap.startsWith("dies");
  if (story.died && story.stuck === null) await live(createCrashingDatabase(db, Number.POSITIVE_INFINITY, mishap));
  return story;
}

async function createEvents(db: Database, seed: number, now: Date) {
  const merchants: Merchant[] = [];
  const events: Event[] = [];
  for (let index = 0; index < MERCHANTS; index++) {
    const webhookCredential = seal(SECRET_KEYS, Buffer.alloc(12, index), "webhook-token");
    const webhookCap = integerBetween(keyedRandom(seed, "cap", index), 1, 3);
    merchants.push(await makeMerchant(db, { bucket: index * 7, webhookCap, webhookCredential }));
  }
  for (let index = 0; index < EVENTS; index++) {
    const type = EVENT_TYPES[Math.floor(keyedRandom(seed, "type", index) * EVENT_TYPES.length)]!;
    events.push(...(await makeEvents(db, merchants[index % MERCHANTS]!, 1, now, type)));
  }
  return { merchants, events };
}
