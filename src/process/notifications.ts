import type { Logger as Log } from "pino";
import { repeatWork } from "../delivery/repeat.ts";
import type { Connection, Database } from "../postgres/database.ts";
import { errorFields } from "../postgres/database-errors.ts";
import {
  announceListener,
  type Channel,
  type ChannelMessage,
  findOtherListeners,
  listenOn,
  notify,
  parseChannel,
  payloadsOf,
  withdrawnMessages,
} from "../postgres/notifications.ts";

/**
 * What processes tell each other after a commit, so that nobody waits for the next poll. A hint may get lost, come twice
 * or come for nothing: polling is what everything rests on, and nobody waits for a hint to be sent.
 */
export interface Notifications {
  /** Events of this merchant were committed. */
  events(merchantId: string): void;
  /** Events of this merchant were taken back. */
  withdrawn(merchantId: string, eventIds: readonly string[]): void;
  /** There are facts about cases that nobody has looked at. */
  cases(): void;
  /** Something was learned from outcomes. */
  learned(): void;
  /** How many notifications were sent, for tests: none when nobody else listens. */
  sent(): number;
  stop(): Promise<void>;
}

/** What this process does about the hints of others; what it does nothing about it does not listen to. */
export interface NotificationHandlers {
  events?(merchantId: string | undefined): void;
  withdrawn?(merchantId: string, eventIds: readonly string[]): void;
  cases?(): void;
  learned?(): void;
}

interface Options {
  db: Database;
  log: Log;
  heard: NotificationHandlers;
}

/** The first hint goes at once; what follows it closely goes together. */
const BATCH_DELAY_MS = 5;
const TICK_MS = 1_000;
/** Ticks between two looks at who listens; who comes says so himself. */
const LISTENER_CHECK_TICKS = 5;
const NOTIFY_TIMEOUT_MS = 5_000;
/** Beyond it everybody looks at everything, and what was withdrawn is noticed when it is read again. */
const PENDING_MAX = 5_000;

/**
 * Listens on a connection of its own, and tells those who listen. It makes the connection anew when it breaks; until then nothing is told and nothing is heard.
 *
 * @param heard  what this process does about hints; without any it only tells
 */
export function startNotifications({ db, log, heard }: Options): Notifications {
  const heeded = (["events", "withdrawn", "cases", "learned"] as const).filter(
    (channel) => heard[channel] !== undefined,
  );
  const listened: readonly Channel[] = ["hello", ...heeded];
  let connection: Connection | null = null;
  let others: ReadonlySet<Channel> = new Set();
  let ticks = 0;
  let isDown = false;
  let stopped = false;
  let sent = 0;
  let last: Promise<unknown> = Promise.resolve();

  const events = new Set<string>();
  const withdrawn = new Map<string, Set<string>>();
  let withdrawnCount = 0;
  const plain = new Set<"cases" | "learned">();
  let flushing = false;

  /** A first connection that takes its time must not be made twice: nobody would close the other one. */
  let connecting: Promise<void> | null = null;

  async function tick() {
    if (connection === null) {
      connecting ??= connect().finally(() => {
        connecting = null;
      });
      await connecting;
    } else if (ticks++ % LISTENER_CHECK_TICKS === 0) await look(connection);
  }

  async function connect() {
    const fresh = await db.connect(NOTIFY_TIMEOUT_MS);
    fresh.onLost(() => drop(fresh));
    fresh.onNotified((name, payload) => hear(fresh, parseChannel(name), payload));
    try {
      await announceListener(fresh, listened);
      for (const channel of listened) await listenOn(fresh, channel);
      others = await findOtherListeners(fresh);
      if (others.size > 0) await notify(fresh, [{ channel: "hello", payload: "" }]);
    } catch (error) {
      fresh.close().catch(() => {});
      throw error;
    }
    if (stopped) return void fresh.close().catch(() => {});
    connection = fresh;
    isDown = false;
  }

  /** A connection does one statement at a time. */
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = last.then(work);
    last = done.catch(() => {});
    return done;
  }

  async function look(on: Connection) {
    try {
      others = await inTurn(() => findOtherListeners(on));
    } catch (error) {
      drop(on);
      throw error;
    }
  }

  function drop(lost: Connection) {
    lost.close().catch(() => {});
    if (connection === lost) connection = null;
  }

  function hear(on: Connection, channel: Channel | null, payload: string) {
    const ids = payload === "" ? [] : payload.split(" ");
    if (channel === "hello") look(on).catch(complain);
    else if (channel === "cases" || channel === "learned") heard[channel]?.();
    else if (channel === "events" && ids.length === 0) heard.events?.(undefined);
    else if (channel === "events") for (const id of ids) heard.events?.(id);
    else if (channel === "withdrawn" && ids.length > 1) heard.withdrawn?.(ids[0]!, ids.slice(1));
  }

  /** Once for an outage. */
  function complain(error: unknown) {
    if (isDown || stopped) return;
    isDown = true;
    log.warn(errorFields(error), "hints.failed");
  }

  function add(channel: Channel, note: () => void) {
    if (connection === null || !others.has(channel)) return;
    note();
    if (flushing) return;
    flushing = true;
    // After the rest of this turn: what was committed together is told together.
    setImmediate(flush);
  }

  async function flush() {
    const notes = takeNotes();
    const on = connection;
    if (on !== null && notes.length > 0) {
      sent += notes.length;
      await inTurn(() => notify(on, notes)).catch((error) => {
        drop(on);
        complain(error);
      });
    }
    if (notes.length > 0 && !stopped) setTimeout(flush, BATCH_DELAY_MS);
    else flushing = false;
  }

  function takeNotes(): ChannelMessage[] {
    const notes: ChannelMessage[] = [];
    if (events.size > PENDING_MAX) notes.push({ channel: "events", payload: "" });
    else for (const payload of payloadsOf([...events])) notes.push({ channel: "events", payload });
    for (const [merchantId, eventIds] of withdrawn) notes.push(...withdrawnMessages(merchantId, [...eventIds]));
    for (const channel of plain) notes.push({ channel, payload: "" });
    events.clear();
    withdrawn.clear();
    withdrawnCount = 0;
    plain.clear();
    return notes;
  }

  const loop = repeatWork(TICK_MS, tick, complain);
  tick().catch(complain);

  return {
    events: (merchantId) => add("events", () => events.add(merchantId)),
    withdrawn: (merchantId, eventIds) =>
      add("withdrawn", () => {
        withdrawnCount += eventIds.length;
        if (withdrawnCount > PENDING_MAX) return;
        const known = withdrawn.get(merchantId) ?? new Set();
        withdrawn.set(merchantId, known);
        for (const id of eventIds) known.add(id);
      }),
    cases: () => add("cases", () => plain.add("cases")),
    learned: () => add("learned", () => plain.add("learned")),
    sent: () => sent,
    async stop() {
      stopped = true;
      loop.stop();
      await connection?.close().catch(() => {});
    },
  };
}
