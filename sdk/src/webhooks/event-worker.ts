import type { ClaimedEvent, EventStore } from "./event-store.ts";
import type { WebhookEvent } from "./webhook-event.ts";

export interface WorkerOptions<Context> {
  store: EventStore<Context>;
  /**
   * Called for each event after it was acknowledged, again when it failed.
   *
   * @param context  what the store gives: write by it, and the writes and the note that the event is handled are one
   */
  handle(event: WebhookEvent, context: Context): unknown;
  /** A try failed, and another follows; or the store failed, then there may be no event. */
  onError(error: unknown, event: WebhookEvent | null): void;
  /** The last try failed. */
  onGiveUp(error: unknown, event: WebhookEvent): void;
  /** Events handled at once. */
  concurrency: number;
  /** Tries of one event. */
  triesMax: number;
  /** A handler that takes longer is taken for crashed, and its event is handled again. */
  leaseMs: number;
  now(): Date;
}

export interface Worker {
  /** There is a new event. */
  wake(): void;
  /** Takes no more events, and resolves when those in hand have ended. */
  stop(): Promise<void>;
}

const FIRST_DELAY_MS = 1000;
const DELAY_MAX_MS = 3_600_000;
/** How soon events are seen that are due again, or that another process left behind. */
const POLL_MS = 1000;

/** 1 s, 4 s, 16 s, … up to an hour. */
export const retryDelayMs = (tries: number) => Math.min(DELAY_MAX_MS, FIRST_DELAY_MS * 4 ** (tries - 1));

/** Handles what is in the store, from now on: what was left by a crash first. */
export function startWorker<Context>(options: WorkerOptions<Context>): Worker {
  const { store, handle, onError, onGiveUp, concurrency, triesMax, leaseMs, now } = options;
  const inHand = new Set<Promise<void>>();
  let looking: Promise<void> | null = null;
  let again = false;
  let stopped = false;

  function wake() {
    again = true;
    looking ??= look().finally(() => {
      looking = null;
      // Woken after the last look, and before its end was heard of.
      if (again) wake();
    });
  }

  async function look() {
    while (again && !stopped && inHand.size < concurrency) {
      again = false;
      try {
        const at = now();
        const claimed = await store.claim(concurrency - inHand.size, at, new Date(at.getTime() + leaseMs));
        for (const each of claimed) begin(each);
        if (claimed.length > 0) again = true;
      } catch (error) {
        onError(error, null);
      }
    }
    // With all hands full, the end of one of them wakes; a worker that was stopped looks no more.
    again = false;
  }

  function begin(claimed: ClaimedEvent) {
    const working: Promise<void> = attempt(claimed).finally(() => {
      inHand.delete(working);
      wake();
    });
    inHand.add(working);
  }

  async function attempt(claimed: ClaimedEvent) {
    const { event, tries } = claimed;
    try {
      await store.finish(claimed, (context) => handle(event, context));
    } catch (error) {
      const retryAt = tries < triesMax ? new Date(now().getTime() + retryDelayMs(tries)) : null;
      if (retryAt) onError(error, event);
      else onGiveUp(error, event);
      try {
        await store.postpone(claimed, retryAt);
      } catch (failure) {
        // Then the event is due again at the end of its lease.
        onError(failure, event);
      }
    }
  }

  const polling = setInterval(wake, POLL_MS);
  // Waiting alone keeps no program alive.
  polling.unref();
  wake();
  return {
    wake,
    async stop() {
      stopped = true;
      clearInterval(polling);
      await looking;
      await Promise.all(inHand);
    },
  };
}
