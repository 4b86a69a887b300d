export interface LoggedProblem {
  /** The log event, such as `decide.failed`. */
  name: string;
  count: number;
  /** Real time. */
  last: Date;
  /** The latest reason; may be empty. */
  why: string;
}

export interface LoggedProblems {
  note(name: string, why: string): void;
  /** Latest first. */
  recent(since: Date): LoggedProblem[];
  all(): LoggedProblem[];
}

/** Names come from the code, so there are few. Messages of libraries share one name. */
const NAMES_MAX = 100;
const OTHER_NAMES = "other";
const REASON_LENGTH_MAX = 200;

export function createLoggedProblems(realNow: () => Date): LoggedProblems {
  const byName = new Map<string, LoggedProblem>();
  return {
    note(given, why) {
      const isKnown = byName.has(given) || (byName.size < NAMES_MAX && /^[a-z_]+\.[a-z_-]+$/.test(given));
      const name = isKnown ? given : OTHER_NAMES;
      const count = (byName.get(name)?.count ?? 0) + 1;
      byName.set(name, { name, count, last: realNow(), why: toStorableText(isKnown ? why : `${given} ${why}`) });
    },
    recent: (since) =>
      [...byName.values()].filter(({ last }) => last >= since).sort((a, b) => b.last.getTime() - a.last.getTime()),
    all: () => [...byName.values()],
  };
}

/**
 * PostgreSQL refuses JSON with a zero byte or a lone surrogate, and without heartbeats the process would count as
 * silent.
 */
const toStorableText = (text: string) =>
  text
    .slice(0, REASON_LENGTH_MAX)
    .toWellFormed()
    .replace(/\p{Cc}/gu, " ");

const WARN_LEVEL = 40;

/** For `hooks.logMethod` of pino. */
export const loggedProblemsHook = ({ note }: LoggedProblems) =>
  function logMethod<This>(this: This, args: unknown[], write: (...args: never[]) => void, level: number) {
    if (level >= WARN_LEVEL) {
      const [fields, message] = typeof args[0] === "string" ? [{}, args[0]] : args;
      note(String(message ?? ""), findReason((fields ?? {}) as Record<string, unknown>));
    }
    write.apply(this, args as never[]);
  };

function findReason({ why, error, errorMessage, errorCode, trouble }: Record<string, unknown>): string {
  return String(why ?? error ?? errorMessage ?? errorCode ?? trouble ?? "");
}
