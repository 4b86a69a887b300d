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

/** From sysexits.h, except 1 and 2. The systemd unit restarts the service after 69, but not after 78. */
export const EXIT_CODES = { ok: 0, failed: 1, usage: 2, unreachable: 69, config: 78 } as const;

/** Of the running service, or started for this command. */
export interface OpenedDatabase {
  /** All merchants. */
  db: Database;
  /** One merchant at a time. */
  tenantDb: TenantDatabase;
  /** The tables' owner, for what no role may do. */
  owner: Database;
  ports: Ports;
  clock: WallClock;
  /** 32 bytes each; they decrypt stored credentials. */
  secretKeys: SecretKeys;
  close(): Promise<void>;
}

export interface LineOutput {
  print(line: string): void;
  isTerminal: boolean;
}

/** All access to the outside world. `print` writes to standard output. */
export interface CommandContext extends LineOutput {
  settings: Settings;
  log: Log;
  loggedProblems?: LoggedProblems | undefined;
  /** With backpressure, for long outputs. */
  output: Writable;
  input(): Readable & { isTTY?: boolean };
  /** For messages that must not mix with the output. */
  stderr: LineOutput;
  open(): Promise<OpenedDatabase>;
  server(): Promise<DatabaseServer>;
  realNow(): Date;
  /** Since an arbitrary start; clock changes have no effect. */
  monotonicMs(): number;
  randomBytes(size: number): Buffer;
  /** Resolves when the process is asked to stop. */
  stopped: Promise<void>;
}

export type CommandOptions = NonNullable<ParseArgsConfig["options"]>;
export type OptionValues = Readonly<Record<string, string | boolean | (string | boolean)[] | undefined>>;

export interface Command {
  /** As typed, such as `merchant create`. */
  name: string;
  /** Such as `MERCHANT [--paused]`. */
  usage: string;
  summary: string;
  options: CommandOptions;
  /** Required, in order. */
  positionals: readonly string[];
  allowsMorePositionals?: boolean;
  examples: readonly string[];
  /** Other commands fail instead. */
  createsDatabase?: true;
  /** By default only errors, on standard error. */
  logsTo?: "stderr" | "file";
  /** A signal must end such a process at once. */
  blocksEventLoop?: boolean;
  /** @returns the exit code */
  run(context: CommandContext, values: OptionValues, positionals: readonly string[]): Promise<number>;
}

/** Printed with the usage; exit code 2. */
export class UsageError extends Error {}

/** Expected: printed without a stack. */
export class CommandFailure extends Error {
  /** `config` if the same command fails again until a person changes something: systemd then does not start it again. */
  readonly exitCode: number;
  constructor(message: string, exitCode: number = EXIT_CODES.failed) {
    super(message);
    this.exitCode = exitCode;
  }
}

export const textOption = (values: OptionValues, name: string): string | undefined => {
  const value = values[name];
  return typeof value === "string" ? value : undefined;
};

export function integerOption(values: OptionValues, name: string, min: number, max: number): number | undefined {
  const value = textOption(values, name);
  if (value === undefined) return undefined;
  const number = Number(value);
  if (!/^\d+$/.test(value) || number < min || number > max)
    throw new UsageError(`--${name} takes a whole number from ${min} to ${max}, not "${value}".`);
  return number;
}

/** A date means its start in UTC. */
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

/** Such as `24h`. */
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

export function formatTable(headings: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const widths = headings.map((heading, i) => Math.max(heading.length, ...rows.map((row) => row[i]!.length)));
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, i) => cell.padEnd(widths[i]!))
      .join("  ")
      .trimEnd();
  return [line(headings), ...rows.map(line)];
}
