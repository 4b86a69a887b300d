import type { Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";

/** Where the lines of a log go. */
export interface LogOutput {
  write(line: string): void;
  /** No line comes after this. Waits a second for whoever reads. */
  end(): Promise<void>;
}

/** Bytes of lines that wait in memory to be read. */
const MAX_BUFFERED_BYTES = 16 * 1024 * 1024;
const FINAL_FLUSH_MS = 1_000;

/**
 * Lines to a reader that may be slow, stop or go away. Nobody waits for it: what it does not read is kept up to `waitingMax`
 * bytes, and lost beyond. pino's own destinations stop the whole process for a tenth of a second when a pipe is full, and again
 * until it is read; and one that stays full would keep a process from ending.
 */
export function createLogOutput(stream: Writable, waitingMax = MAX_BUFFERED_BYTES): LogOutput {
  stream.on("error", () => {}); // the reader is gone: so are the lines
  return {
    write(line) {
      if (!stream.destroyed && stream.writableLength + line.length <= waitingMax) stream.write(line);
    },
    async end() {
      const late = new AbortController();
      const written = new Promise<true>((resolve) => stream.end(() => resolve(true)));
      const isWritten = await Promise.race([written, sleep(FINAL_FLUSH_MS, false, late)]);
      late.abort();
      // A write under way would keep the process from ending.
      if (!isWritten) stream.destroy();
    },
  };
}

/** So long a line may wait for others. */
const BATCH_DELAY_MS = 10;

/**
 * What is logged within a hundredth of a second is written at once: a write takes longer than a line takes to be made. When the process ends, the last
 * lines are written; one that is killed loses those that still waited.
 */
export function batchLogLines(lines: LogOutput, togetherMs = BATCH_DELAY_MS): LogOutput & { flush(): void } {
  let waiting = "";
  const flush = () => {
    if (waiting === "") return;
    const all = waiting;
    waiting = "";
    lines.write(all);
  };
  process.on("exit", flush);
  return {
    write(line) {
      if (waiting === "") setTimeout(flush, togetherMs);
      waiting += line;
    },
    flush,
    async end() {
      flush();
      process.off("exit", flush);
      await lines.end();
    },
  };
}
