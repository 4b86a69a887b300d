import type { Readable, Writable } from "node:stream";
import type { ParseArgsConfig } from "node:util";
import type { Logger as Log } from "pino";
import type { Settings } from "../config/config.ts";
import { DAY_MS, HOUR_MS } from "../domain/durations.ts";
import type { Ports } from "../domain/ports.ts";
import { parseTimestamp } from "../domain/timestamp.ts";
import type { Database } from "../postgres/database.ts";
import type { TenantDatabase } from "../postgres/tenant-database.ts";
import type { LoggedProblems } from "../process/logged-problems.ts";
import type { DatabaseServer } from "../process/open-store.ts";
import type { WallClock } from "../process/wall-clock.ts";
import type { SecretKeys } from "../tables/secret-box.ts";

/** As sysexits.h has them, but for 1 and 2. A unit of systemd starts the service again after 69, and not after 78. */
export const EXIT_CODES = { ok: 0, failed: 1, usage: 2, unreachable: 69, config: 78 } as const;

/** The database that a running service uses, or one started for this command alone. */
export interface OpenedDatabase {
  /** For all merchants. */
  db: Database;
  /** For one merchant at a time. */
  walled: TenantDatabase;
  /** The login, which owns the tables: for the few things that no role may do, and to see what its sessions do. */
  owner: Database;
  ports: Ports;
  clock: WallClock;
  /** 32 bytes: opens the credentials at rest. */
  secretKeys: SecretKeys;
  close(): Promise<void>;
}

/** The target of printed lines. */
export interface LineOutput {
  /** Prints a line for people, or for the next program. */
  print(line: string): void;
  isTerminal: boolean;
}

/** The only ways in which a command reaches the outside, given by main.ts. Its own lines go to standard output. */
export interface CommandContext extends LineOutput {
  settings: Settings;
  log: Log;
  /** Warnings and errors of this process's log. */
  troubles?: LoggedProblems | undefined;
  /** Standard output, for whom lines are too little: whoever writes much waits until it is taken. */
  output: Writable;
  /** Standard input. */
  input(): Readable & { isTTY?: boolean };
  /** Standard error: for people, beside what is written to the output. */
  aside: LineOutput;
  open(): Promise<OpenedDatabase>;
  /** The server of the database alone. The command `begins` where there need not be one. */
  server(): Promise<DatabaseServer>;
  realNow(): Date;
  /** Real milliseconds since some moment, which no setting of the clock changes. */
  monotonicMs(): number;
  randomBytes(size: number): Buffer;
  /** Resolves when somebody asks the process to stop. */
  stopped: Promise<void>;
}

export type CommandOptions = NonNullable<ParseArgsConfig["options"]>;
export type OptionValues = Readonly<Record<string, string | boolean | (string | boolean)[] | undefined>>;

export interface Command {
  /** As typed: `merchant create`. */
  name: string;
  /** The text after the name: `MERCHANT [--paused]`. */
  usage: string;
  summary: string;
  options: CommandOptions;
  /** Names of the words that must follow, in order. */
  positionals: readonly string[];
  /** Any number of further words may follow. */
  more?: boolean;
  examples: readonly string[];
  /** Makes the database where there is none; without it such a command says so, and makes nothing. */
  begins?: true;
  /** Where its log goes; without it only trouble is shown. */
  logsTo?: "stderr" | "file";
  /** It computes all the while and could not hear a signal, so a signal ends it at once. */
  computes?: boolean;
  /** @returns the exit code */
  run(context: CommandContext, values: OptionValues, positionals: readonly string[]): Promise<number>;
}

/** A wrong call of a command: printed with its usage, exit code 2. */
export class UsageError extends Error {}

/** A failure that is no bug: printed as it is, exit code 1. */
export class CommandFailure extends Error {}

/** The value of an option that takes text; undefined when it was not given. */
export const textOption = (values: OptionValues, name: string): string | undefined => {
  const value = values[name];
  return typeof value === "string" ? value : undefined;
};

/** The value of an option that takes a whole number. */
export function integerOption(values: OptionValues, name: string, min: number, max: number): number | undefined {
  const value = textOption(values, name);
  if (value === undefined) return undefined;
  const number = Number(value);
  if (!/^\d+$/.test(value) || number < min || number > max)
    throw new UsageError(`--${name} takes a whole number from ${min} to ${max}, not "${value}".`);
  return number;
}

/** The value of an option that takes a moment. */
export function timeOption(values: OptionValues, name: string): Date | undefined {
  const value = textOption(values, name);
  if (value === undefined) return undefined;
  const at = parseTimestamp(
    /^\d{4}-\d\d-\d\d$/.test(value) ? `${value}T00:00:00Z` : value.replace(/^(.{16})(Z|[+-])/, "$1:00$2"),
  );
  if (!at)
    throw new UsageError(
      `--${name} takes a date from 1970 to 2199 such as 2027-01-31 or 2027-01-31T12:00:00Z, not "${value}".`,
    );
  return at;
}

const UNITS_MS: Record<string, number> = { s: 1_000, m: 60_000, h: HOUR_MS, d: DAY_MS };
const DURATION_MAX_MS = 366 * DAY_MS;

/** Milliseconds of an option such as `24h`. */
export function durationOption(values: OptionValues, name: string): number | undefined {
  const value = textOption(values, name);
  if (value === undefined) return undefined;
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(value) ?? [];
  const ms = value === "0" ? 0 : Number(count) * (UNITS_MS[unit ?? ""] ?? Number.NaN);
  if (Number.isNaN(ms) || ms > DURATION_MAX_MS)
    throw new UsageError(`--${name} takes 90s, 30m, 24h, 7d or 0, up to 366d, not "${value}".`);
  return ms;
}

export const isUuid = (text: string) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);

/** Runs `work` with the database open, and closes it whatever happens. */
export async function withDatabase<T>(
  context: CommandContext,
  work: (opened: OpenedDatabase) => Promise<T>,
): Promise<T> {
  const opened = await context.open();
  try {
    return await work(opened);
  } finally {
    await opened.close();
  }
}

/** Rows under their headings, columns aligned. */
export function formatTable(headings: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const widths = headings.map((heading, i) => Math.max(heading.length, ...rows.map((row) => row[i]!.length)));
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, i) => cell.padEnd(widths[i]!))
      .join("  ")
      .trimEnd();
  return [line(headings), ...rows.map(line)];
}
