import { hostname } from "node:os";
import type { Logger as Log } from "pino";
import { HOUR_MS } from "../domain/durations.ts";
import type { Ports } from "../domain/ports.ts";
import type { Database } from "../postgres/database.ts";
import { deleteProcesses, listProcesses, type ProcessRow, writeHeartbeat } from "../tables/processes.ts";
import type { LoggedProblems } from "./logged-problems.ts";
import { type Loop, startLoop } from "./loop.ts";
import { createSilenceDetector } from "./silent-processes.ts";

const HEARTBEAT_MS = 5_000;
/** Operators find a process that vanished in `dunlin doctor` for this long. */
const RETENTION_MS = HOUR_MS;
/** Troubles older than this are over. */
const RECENT_PROBLEM_MS = 600_000;
/** A timer this late means that the process hung or was stopped. */
const LATE_TIMER_MS = 3_000;
const SLOW_ANSWER_MS = 100;
/** One slow answer is chance. */
const SLOW_HEARTBEAT_COUNT = 3;

/** The state of the installation's processes and of their database, as this process knows it. */
export interface HeartbeatFigures {
  /** Whether the database answered this process within the last 15 seconds. */
  isDatabaseUp: boolean;
  /** How long the database took to answer last, in real milliseconds. */
  answerMs: number;
  /** All processes that have been seen within an hour, this one included. */
  processes: { version: string; isSilent: boolean }[];
}

export interface Heartbeat {
  figures(): HeartbeatFigures;
  /** Removes this process from the list, so that a normal end is not reported as silence. */
  stop(): Promise<void>;
}

interface Options {
  db: Database;
  ports: Ports;
  log: Log;
  version: string;
  roles: readonly string[];
  troubles: LoggedProblems;
  pid: number;
  /** Opens a file and closes it; throws when this process may open no more. */
  tryFile(): void;
}

/** Writes every five seconds that this process is alive and what troubles it has, and looks whether the others are. */
export function startHeartbeat({ db, ports, log, version, roles, troubles, pid, tryFile }: Options): Heartbeat {
  const id = ports.newId();
  const startedAt = ports.realNow();
  const silence = createSilenceDetector(ports.monotonicMs);
  let rows: readonly ProcessRow[] = [];
  let answerMs = 0;
  let answeredAt = ports.monotonicMs();
  let slowBeats = 0;
  let plannedAt: number | null = null;

  function judgeAnswer(ms: number) {
    answerMs = ms;
    if (ms >= SLOW_ANSWER_MS && ++slowBeats === SLOW_HEARTBEAT_COUNT)
      log.warn({ why: `${Math.round(ms)} ms` }, "database.slow");
    if (ms >= SLOW_ANSWER_MS) return;
    if (slowBeats >= SLOW_HEARTBEAT_COUNT) log.info({ answerMs: Math.round(ms) }, "database.quick");
    slowBeats = 0;
  }

  function judgeOthers(now: Date) {
    const { fell, back } = silence.look(rows, now);
    const who = ({ host, pid, seenAt }: ProcessRow) => ({ host, pid, silentMs: now.getTime() - seenAt.getTime() });
    for (const row of fell) log.warn({ ...who(row), why: `${row.host}/${row.pid}` }, "process.silent");
    for (const row of back) log.info(who(row), "process.back");
  }

  /** Without files nobody is let in, and the system says nothing about it. */
  function judgeFiles() {
    try {
      tryFile();
    } catch (error) {
      log.warn({ why: (error as NodeJS.ErrnoException).code }, "process.exhausted");
    }
  }

  async function beat() {
    judgeFiles();
    const askedMs = ports.monotonicMs();
    const lateMs = plannedAt === null ? 0 : askedMs - plannedAt;
    if (lateMs > LATE_TIMER_MS)
      log.warn({ lateMs: Math.round(lateMs), why: `${Math.round(lateMs)} ms` }, "process.stalled");
    plannedAt = null;
    const seenAt = ports.realNow();
    const recent = troubles.recent(new Date(seenAt.getTime() - RECENT_PROBLEM_MS));
    const stored = recent.map(({ last, ...rest }) => ({ ...rest, last: last.toISOString() }));
    const own = { id, host: hostname(), pid, version, roles: [...roles], startedAt, seenAt, troubles: stored };
    await writeHeartbeat(db, own);
    answeredAt = ports.monotonicMs();
    judgeAnswer(answeredAt - askedMs);
    const keptFrom = new Date(seenAt.getTime() - RETENTION_MS);
    const all = await listProcesses(db);
    rows = all.filter(({ seenAt: at }) => at >= keptFrom);
    judgeOthers(seenAt);
    if (rows.length < all.length) await deleteProcesses(db, null, keptFrom);
    plannedAt = ports.monotonicMs() + HEARTBEAT_MS;
    return HEARTBEAT_MS;
  }

  const loop: Loop = startLoop("presence", log, beat);
  return {
    figures: () => ({
      isDatabaseUp: ports.monotonicMs() - answeredAt < 3 * HEARTBEAT_MS,
      answerMs,
      processes: rows.map((row) => ({ version: row.version, isSilent: silence.isSilent(row) })),
    }),
    async stop() {
      await loop.stop();
      await deleteProcesses(db, id, new Date(ports.realNow().getTime() - RETENTION_MS)).catch(() => {});
    },
  };
}
