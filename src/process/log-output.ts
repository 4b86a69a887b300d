import type { Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";

export interface LogOutput {
  write(line: string): void;
  /** Waits up to a second for the reader. */
  end(): Promise<void>;
}

const MAX_BUFFERED_BYTES = 16 * 1024 * 1024;
const FINAL_FLUSH_MS = 1_000;

/**
 * Never waits for a slow reader, unlike pino's own destinations. Buffers up to `maxBufferedBytes`, and drops further
 * lines.
 */
export function createLogOutput(stream: Writable, maxBufferedBytes = MAX_BUFFERED_BYTES): LogOutput {
  stream.on("error", () => {}); // the reader is gone
  return {
    write(line) {
      if (!stream.destroyed && stream.writableLength + line.length <= maxBufferedBytes) stream.write(line);
    },
    async end() {
      const timeout = new AbortController();
      const written = new Promise<true>((resolve) => stream.end(() => resolve(true)));
      const isWritten = await Promise.race([written, sleep(FINAL_FLUSH_MS, false, timeout)]);
      timeout.abort();
      // A pending write would keep the process alive.
      if (!isWritten) stream.destroy();
    },
  };
}

const BATCH_DELAY_MS = 10;

/** Batches lines, because a write takes longer than creating a line. A killed process loses its last lines. */
export function batchLogLines(lines: LogOutput, delayMs = BATCH_DELAY_MS): LogOutput & { flush(): void } {
  let buffered = "";
  const flush = () => {
    if (buffered === "") return;
    const all = buffered;
    buffered = "";
    lines.write(all);
  };
  process.on("exit", flush);
  return {
    write(line) {
      if (buffered === "") setTimeout(flush, delayMs);
      buffered += line;
    },
    flush,
    async end() {
      flush();
      process.off("exit", flush);
      await lines.end();
    },
  };
}
