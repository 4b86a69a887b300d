import { setTimeout as sleep } from "node:timers/promises";
import type { Client, RecoveryAction } from "#sdk";

const PAUSE_MS = 1000;

/** What Dunlin's list says was executed, as of the last look. */
export interface ActionCopy {
  executed: ReadonlyMap<string, RecoveryAction>;
  /** One last look, and no more. */
  stop(): Promise<void>;
}

/**
 * Keeps a copy of the executed actions, each of which is read once.
 *
 * This merchant forgets everything when it ends. One that doesn't stores the actions and the token in one transaction, and begins
 * with the stored token.
 */
export function startCopyingActions(client: Client): ActionCopy {
  const stopping = new AbortController();
  const executed = new Map<string, RecoveryAction>();
  let since: string | undefined;

  async function look() {
    for await (const { recoveryActions, token } of client.recoveryActions.sync({ since })) {
      for (const action of recoveryActions) executed.set(action.id, action);
      since = token;
    }
  }

  const running = (async () => {
    for (;;) {
      const last = stopping.signal.aborted;
      // Failures are told by whoever pushes. What was read is kept, and the next look goes on after it.
      await look().catch(() => {});
      if (last) return;
      await sleep(PAUSE_MS, undefined, { signal: stopping.signal }).catch(() => {});
    }
  })();

  return {
    executed,
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
