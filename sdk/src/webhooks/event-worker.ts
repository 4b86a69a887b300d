import type { ClaimedEvent, EventStore } from "./event-store.ts";
import type { WebhookEvent } from "./webhook-event.ts";

export interface WorkerOptions<Context> {
  store: EventStore<Context>;
  /**
   * Called for each event after its acknowledgement, and again after a failure.
   *
   * @param context  from the store: writes through it are committed together with the event's end
   */
  handle(event: WebhookEvent, context: Context): unknown;
  /** Called when an attempt fails and another follows, or when the store fails; then the event may be null. */
  onError(error: unknown, event: WebhookEvent | null): void;
  /** Called when the last attempt fails. */
  onGiveUp(error: unknown, event: WebhookEvent): void;
  /** Maximum events handled at once. */
  concurrency: number;
  triesMax: number;
  /** Then a handler counts as crashed, and its event is handled again. */
  leaseMs: number;
  now(): Date;
}

export interface Worker {
  /** Call it when the store has a new event. */
  wake(): void;
  /** Claims no more events, and resolves when those in progress have ended. */
  stop(): Promise<void>;
}

const FIRST_DELAY_MS = 1000;
const DELAY_MAX_MS = 3_600_000;
/** To find events that are due again, or left behind by another process. */
const POLL_MS = 1000;

/** Returns 1 s, 4 s, 16 s, … up to an hour. */
export const retryDelayMs = (tries: number) => Math.min(DELAY_MAX_MS, FIRST_DELAY_MS * 4 ** (tries - 1));

/** Includes events that a crashed process left behind. */
export function startWorker<Context>(options: WorkerOptions<Context>): Worker {
  const { store, handle, onError, onGiveUp, concurrency, triesMax, leaseMs, now } = options;
  const inProgress = new Set<Promise<void>>();
  let claiming: Promise<void> | null = null;
  let hasWork = false;
  let isStopped = false;

  function wake() {
    hasWork = true;
    claiming ??= claimEvents().finally(() => {
      claiming = null;
      // Woken between the last claim and the end of `claimEvents`.
      if (hasWork) wake();
    });
  }

  async function claimEvents() {
    while (hasWork && !isStopped && inProgress.size < concurrency) {
      hasWork = false;
      try {
        const at = now();
        const claimed = await store.claim(concurrency - inProgress.size, at, new Date(at.getTime() + leaseMs));
        for (const each of claimed) start(each);
        if (claimed.length > 0) hasWork = true;
      } catch (error) {
        onError(error, null);
      }
    }
    // If all slots are taken, an attempt's end wakes the worker.
    hasWork = false;
  }

  function start(claimed: ClaimedEvent) {
    const working: Promise<void> = attempt(claimed).finally(() => {
      inProgress.delete(working);
      wake();
    });
    inProgress.add(working);
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
        // The event is due again at the end of its lease.
        onError(failure, event);
      }
    }
  }

  const polling = setInterval(wake, POLL_MS);
  // The timer alone must not keep the program running.
  polling.unref();
  wake();
  return {
    wake,
    async stop() {
      isStopped = true;
      clearInterval(polling);
      await claiming;
      await Promise.all(inProgress);
    },
  };
}
