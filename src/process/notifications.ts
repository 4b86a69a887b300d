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
 * Messages between processes after a commit, so that work starts before the next poll. They may get lost, arrive twice
 * or be wrong, because polling finds all work anyway. Sending never blocks the caller.
 */
export interface Notifications {
  events(merchantId: string): void;
  withdrawn(merchantId: string, eventIds: readonly string[]): void;
  cases(): void;
  learned(): void;
  /** For tests. Nothing is sent while no other process listens. */
  sent(): number;
  stop(): Promise<void>;
}

/** A process listens only to the channels that it handles. */
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

/** The first message is sent at once, and those that follow are batched. */
const BATCH_DELAY_MS = 5;
const TICK_MS = 1_000;
/** Ticks between two searches for listeners. New listeners announce themselves. */
const LISTENER_CHECK_TICKS = 5;
const NOTIFY_TIMEOUT_MS = 5_000;
/** Beyond this, listeners check everything, and find withdrawn events when they read them again. */
const PENDING_MAX = 5_000;

/**
 * Uses its own connection, and reconnects after a loss.
 *
 * @param heard  the channels to listen to; without any, the process only sends
 */
export function startNotifications({ db, log, heard }: Options): Notifications {
  const handledChannels = (["events", "withdrawn", "cases", "learned"] as const).filter(
    (channel) => heard[channel] !== undefined,
  );
  const listenedChannels: readonly Channel[] = ["hello", ...handledChannels];
  let connection: Connection | null = null;
  let otherListeners: ReadonlySet<Channel> = new Set();
  let ticks = 0;
  let isDown = false;
  let isStopped = false;
  let sent = 0;
  let last: Promise<unknown> = Promise.resolve();

  const events = new Set<string>();
  const withdrawn = new Map<string, Set<string>>();
  let withdrawnCount = 0;
  const plain = new Set<"cases" | "learned">();
  let isFlushing = false;

  /** A slow first connection must not be opened twice, because the other one would never be closed. */
  let connecting: Promise<void> | null = null;

  async function tick() {
    if (connection === null) {
      connecting ??= connect().finally(() => {
        connecting = null;
      });
      await connecting;
    } else if (ticks++ % LISTENER_CHECK_TICKS === 0) await refreshListeners(connection);
  }

  async function connect() {
    const opened = await db.connect(NOTIFY_TIMEOUT_MS);
    opened.onLost(() => drop(opened));
    opened.onNotified((name, payload) => hear(opened, parseChannel(name), payload));
    try {
      await announceListener(opened, listenedChannels);
      for (const channel of listenedChannels) await listenOn(opened, channel);
      otherListeners = await findOtherListeners(opened);
      if (otherListeners.size > 0) await notify(opened, [{ channel: "hello", payload: "" }]);
    } catch (error) {
      opened.close().catch(() => {});
      throw error;
    }
    if (isStopped) return void opened.close().catch(() => {});
    connection = opened;
    isDown = false;
  }

  /** A connection runs one statement at a time. */
  function inSequence<T>(work: () => Promise<T>): Promise<T> {
    const done = last.then(work);
    last = done.catch(() => {});
    return done;
  }

  async function refreshListeners(on: Connection) {
    try {
      otherListeners = await inSequence(() => findOtherListeners(on));
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
    if (channel === "hello") refreshListeners(on).catch(logOnce);
    else if (channel === "cases" || channel === "learned") heard[channel]?.();
    else if (channel === "events" && ids.length === 0) heard.events?.(undefined);
    else if (channel === "events") for (const id of ids) heard.events?.(id);
    else if (channel === "withdrawn" && ids.length > 1) heard.withdrawn?.(ids[0]!, ids.slice(1));
  }

  function logOnce(error: unknown) {
    if (isDown || isStopped) return;
    isDown = true;
    log.warn(errorFields(error), "hints.failed");
  }

  function add(channel: Channel, queue: () => void) {
    if (connection === null || !otherListeners.has(channel)) return;
    queue();
    if (isFlushing) return;
    isFlushing = true;
    // After the current turn of the event loop, so that simultaneous commits share a message.
    setImmediate(flush);
  }

  async function flush() {
    const messages = drainMessages();
    const on = connection;
    if (on !== null && messages.length > 0) {
      sent += messages.length;
      await inSequence(() => notify(on, messages)).catch((error) => {
        drop(on);
        logOnce(error);
      });
    }
    if (messages.length > 0 && !isStopped) setTimeout(flush, BATCH_DELAY_MS);
    else isFlushing = false;
  }

  function drainMessages(): ChannelMessage[] {
    const messages: ChannelMessage[] = [];
    if (events.size > PENDING_MAX) messages.push({ channel: "events", payload: "" });
    else for (const payload of payloadsOf([...events])) messages.push({ channel: "events", payload });
    for (const [merchantId, eventIds] of withdrawn) messages.push(...withdrawnMessages(merchantId, [...eventIds]));
    for (const channel of plain) messages.push({ channel, payload: "" });
    events.clear();
    withdrawn.clear();
    withdrawnCount = 0;
    plain.clear();
    return messages;
  }

  const loop = repeatWork(TICK_MS, tick, logOnce);
  tick().catch(logOnce);

  return {
    events: (merchantId) => add("events", () => events.add(merchantId)),
    withdrawn: (merchantId, eventIds) =>
      add("withdrawn", () => {
        withdrawnCount += eventIds.length;
        if (withdrawnCount > PENDING_MAX) return;
        const pendingIds = withdrawn.get(merchantId) ?? new Set();
        withdrawn.set(merchantId, pendingIds);
        for (const id of eventIds) pendingIds.add(id);
      }),
    cases: () => add("cases", () => plain.add("cases")),
    learned: () => add("learned", () => plain.add("learned")),
    sent: () => sent,
    async stop() {
      isStopped = true;
      loop.stop();
      await connection?.close().catch(() => {});
    },
  };
}
