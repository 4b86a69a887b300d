import { setTimeout as sleep } from "node:timers/promises";
import type { Client, RecoveryAction } from "#sdk";

const PAUSE_MS = 1000;

/** As of the last read. */
export interface ActionCopy {
  executed: ReadonlyMap<string, RecoveryAction>;
  /** Reads once more, then stops. */
  stop(): Promise<void>;
}

/**
 * Keeps a copy of the executed actions, in memory. A merchant with a database stores the actions and the token in one
 * transaction, and resumes with the stored token.
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
      // The pusher reports failures. The next read continues after the actions already read.
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
