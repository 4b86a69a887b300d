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
/** How long `dunlin doctor` lists a process that vanished. */
const RETENTION_MS = HOUR_MS;
const RECENT_PROBLEM_MS = 600_000;
/** A timer this late means that the process hung or was stopped. */
const LATE_TIMER_MS = 3_000;
const SLOW_ANSWER_MS = 100;
/** A single slow answer may be chance. */
const SLOW_HEARTBEAT_COUNT = 3;

export interface HeartbeatFigures {
  /** Whether the database answered within the last 15 seconds. */
  isDatabaseUp: boolean;
  answerMs: number;
  /** Processes seen within an hour, including this one. */
  processes: { version: string; isSilent: boolean }[];
}

export interface Heartbeat {
  figures(): HeartbeatFigures;
  /** Removes this process from the list, so that it is not reported as silent. */
  stop(): Promise<void>;
}

interface Options {
  db: Database;
  ports: Ports;
  log: Log;
  version: string;
  roles: readonly string[];
  loggedProblems: LoggedProblems;
  pid: number;
  /** Throws if this process has no file descriptor left. */
  tryFile(): void;
}

export function startHeartbeat({ db, ports, log, version, roles, loggedProblems, pid, tryFile }: Options): Heartbeat {
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
    const { silenced, returned } = silence.update(rows, now);
    const who = ({ host, pid, seenAt }: ProcessRow) => ({ host, pid, silentMs: now.getTime() - seenAt.getTime() });
    for (const row of silenced) log.warn({ ...who(row), why: `${row.host}/${row.pid}` }, "process.silent");
    for (const row of returned) log.info(who(row), "process.back");
  }

  /** Without file descriptors no connection is accepted, and the system logs nothing about it. */
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
    const recent = loggedProblems.recent(new Date(seenAt.getTime() - RECENT_PROBLEM_MS));
    const stored = recent.map(({ last, ...rest }) => ({ ...rest, last: last.toISOString() }));
    const heartbeat = { id, host: hostname(), pid, version, roles: [...roles], startedAt, seenAt, troubles: stored };
    await writeHeartbeat(db, heartbeat);
    answeredAt = ports.monotonicMs();
    judgeAnswer(answeredAt - askedMs);
    const oldestKept = new Date(seenAt.getTime() - RETENTION_MS);
    const all = await listProcesses(db);
    rows = all.filter(({ seenAt: at }) => at >= oldestKept);
    judgeOthers(seenAt);
    if (rows.length < all.length) await deleteProcesses(db, null, oldestKept);
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
