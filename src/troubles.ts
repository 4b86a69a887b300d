/** Warnings and errors of one name, as the log has them. */
export interface Trouble {
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
export interface Troubles {
  /** Counts one line. */
  note(name: string, why: string): void;
  /** Returns each name logged at or after `since`, the latest first. */
  recent(since: Date): Trouble[];
  /** Returns every name since the start. */
  all(): Trouble[];
}

/** Names come from the code, so they are few. A library's own sentences share one name. */
const NAMES_MAX = 100;
const OTHER = "other";
const WHY_MAX = 200;

/** @param realNow  real time, in which `last` is given */
export function createTroubles(realNow: () => Date): Troubles {
  const byName = new Map<string, Trouble>();
  return {
    note(given, why) {
      const isKnown = byName.has(given) || (byName.size < NAMES_MAX && /^[a-z_]+\.[a-z_-]+$/.test(given));
      const name = isKnown ? given : OTHER;
      const count = (byName.get(name)?.count ?? 0) + 1;
      byName.set(name, { name, count, last: realNow(), why: storable(isKnown ? why : `${given} ${why}`) });
    },
    recent: (since) =>
      [...byName.values()].filter(({ last }) => last >= since).sort((a, b) => b.last.getTime() - a.last.getTime()),
    all: () => [...byName.values()],
  };
}

/** PostgreSQL refuses JSON with a zero byte or half of a surrogate pair, and the process would be taken for silent. */
const storable = (text: string) =>
  text
    .slice(0, WHY_MAX)
    .toWellFormed()
    .replace(/\p{Cc}/gu, " ");

const WARN = 40;

/**
 * Returns pino's hook that notes each line of the level `warn` and above.
 *
 * @returns for `hooks.logMethod` of pino's options
 */
export const troublesHook = ({ note }: Troubles) =>
  function logMethod<This>(this: This, args: unknown[], write: (...args: never[]) => void, level: number) {
    if (level >= WARN) {
      const [fields, message] = typeof args[0] === "string" ? [{}, args[0]] : args;
      note(String(message ?? ""), reasonIn((fields ?? {}) as Record<string, unknown>));
    }
    write.apply(this, args as never[]);
  };

/** The first of the fields in which lines give their reason. */
function reasonIn({ why, error, errorMessage, errorCode, trouble }: Record<string, unknown>): string {
  return String(why ?? error ?? errorMessage ?? errorCode ?? trouble ?? "");
}
