import { setTimeout as sleep } from "node:timers/promises";
import type { Logger as Log } from "pino";
import { isServer } from "./pid-file.ts";

const FAST_SHUTDOWN_MS = 20_000;
const IMMEDIATE_SHUTDOWN_MS = 10_000;

/**
 * Waits for the server's end. SIGINT closes all sessions and writes a checkpoint. SIGQUIT skips the checkpoint, so the next start
 * recovers. SIGKILL is the last resort, because it leaves backends behind.
 */
export async function stopServer(pid: number, cluster: string, log: Log): Promise<void> {
  for (const [signal, waitMs] of [
    ["SIGINT", FAST_SHUTDOWN_MS],
    ["SIGQUIT", IMMEDIATE_SHUTDOWN_MS],
    ["SIGKILL", IMMEDIATE_SHUTDOWN_MS],
  ] as const) {
    if (signal !== "SIGINT") log.warn({ serverPid: pid, signal }, "database.stop_delayed");
    try {
      process.kill(pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ESRCH") return;
      throw error;
    }
    const deadline = performance.now() + waitMs;
    while (performance.now() < deadline) {
      if (!isServer(pid, cluster)) return;
      await sleep(10);
    }
  }
  throw new Error(`the embedded database, process ${pid}, does not stop`);
}
