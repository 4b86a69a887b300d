/** Warnings and errors of one name, as the log has them. */
export interface LoggedProblem {
  /** As the log calls it: `decide.failed`. */
  name: string;
  /** How often it was logged since the process started. */
  count: number;
  /** When it was logged last, in real time. */
  last: Date;
  /** The reason that the last line gave; empty when it gave none. */
  why: string;
}

/** Warnings and errors that a process has logged. */
export interface LoggedProblems {
  /** Counts one line. */
  note(name: string, why: string): void;
  /** Returns each name logged at or after `since`, the latest first. */
  recent(since: Date): LoggedProblem[];
  /** Returns every name since the start. */
  all(): LoggedProblem[];
}

/** Names come from the code, so they are few. A library's own sentences share one name. */
const NAMES_MAX = 100;
const OTHER_NAMES = "other";
const REASON_LENGTH_MAX = 200;

/** @param realNow  real time, in which `last` is given */
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

/** PostgreSQL refuses JSON with a zero byte or half of a surrogate pair, and the process would be taken for silent. */
const toStorableText = (text: string) =>
  text
    .slice(0, REASON_LENGTH_MAX)
    .toWellFormed()
    .replace(/\p{Cc}/gu, " ");

const WARN_LEVEL = 40;

/**
 * Returns pino's hook that notes each line of the level `warn` and above.
 *
 * @returns for `hooks.logMethod` of pino's options
 */
export const loggedProblemsHook = ({ note }: LoggedProblems) =>
  function logMethod<This>(this: This, args: unknown[], write: (...args: never[]) => void, level: number) {
    if (level >= WARN_LEVEL) {
      const [fields, message] = typeof args[0] === "string" ? [{}, args[0]] : args;
      note(String(message ?? ""), findReason((fields ?? {}) as Record<string, unknown>));
    }
    write.apply(this, args as never[]);
  };

/** The first of the fields in which lines give their reason. */
function findReason({ why, error, errorMessage, errorCode, trouble }: Record<string, unknown>): string {
  return String(why ?? error ?? errorMessage ?? errorCode ?? trouble ?? "");
}
