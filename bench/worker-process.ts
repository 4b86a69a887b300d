import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

/** Answers one question at a time; ends with its parent. */
export interface BenchProcess {
  pid: number;
  /** @param limitMs  for the answer */
  ask<Answer>(question: string, argument?: unknown, limitMs?: number): Promise<Answer>;
  /** Lets it clean up and end. */
  stop(): Promise<void>;
}

interface ProcessReply {
  answer?: unknown;
  error?: string;
}

const EXIT_TIMEOUT_MS = 30_000;
/** A round takes seconds. */
const REPLY_TIMEOUT_MS = 60_000;

export async function startBenchProcess(file: string, args: readonly string[] = []): Promise<BenchProcess> {
  const child = fork(join(import.meta.dirname, file), args, { serialization: "advanced" });
  await waitForReply(child, file, REPLY_TIMEOUT_MS);
  return {
    pid: child.pid!,
    async ask<Answer>(question: string, argument?: unknown, limitMs = REPLY_TIMEOUT_MS) {
      child.send({ question, argument });
      const { answer, error } = await waitForReply(child, file, limitMs);
      if (error !== undefined) throw new Error(`${file}: ${error}`);
      return answer as Answer;
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exit = once(child, "exit");
      child.disconnect();
      const late = setTimeout(() => child.kill("SIGKILL"), EXIT_TIMEOUT_MS);
      await exit;
      clearTimeout(late);
    },
  };
}

async function waitForReply(child: ChildProcess, file: string, limitMs: number): Promise<ProcessReply> {
  const given = new AbortController();
  const late = setTimeout(() => child.emit("error", new Error(`${file} gave no answer in ${limitMs} ms`)), limitMs);
  const exit = once(child, "exit", given).then(([code, signal]) => {
    throw new Error(`${file} ended with ${code ?? signal}`);
  });
  try {
    const [reply] = await Promise.race([once(child, "message", given), exit]);
    return reply as ProcessReply;
  } finally {
    clearTimeout(late);
    given.abort();
    exit.catch(() => {});
  }
}

/** @param stop  cleans up when the parent disconnects or has ended */
export function serveRequests(
  // biome-ignore lint/suspicious/noExplicitAny: what is sent between processes has lost its type
  answers: Record<string, (argument: any) => unknown>,
  stop: () => Promise<void> = async () => {},
) {
  process.on("message", async ({ question, argument }: { question: string; argument: unknown }) => {
    try {
      process.send?.({ answer: await answers[question]!(argument) });
    } catch (error) {
      process.send?.({ error: (error as Error).stack });
    }
  });
  // Ctrl-C reaches all of the terminal's processes; this one ends with its parent.
  process.on("SIGINT", () => {});
  let stopping = false;
  const end = async () => {
    if (stopping) return;
    stopping = true;
    await stop().catch((error) => console.error(error));
    process.exit();
  };
  process.once("disconnect", end);
  process.once("SIGTERM", end);
  process.send?.({});
}
