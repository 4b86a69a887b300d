import { randomBytes } from "node:crypto";
import { fstatSync, mkdirSync } from "node:fs";
import { Socket } from "node:net";
import { join } from "node:path";
import { parseArgs } from "node:util";
import pino, { type Logger as Log } from "pino";
import { type Command, type Context, EXIT, Failure, UsageError } from "./cli/command.ts";
import { allCommands, findCommand } from "./cli/commands.ts";
import { harmless } from "./cli/harmless.ts";
import { commandHelp, help } from "./cli/help.ts";
import { unknownCommand } from "./cli/unknown-command.ts";
import { unreachable } from "./cli/unreachable.ts";
import { ConfigError, type Problem, readSettings, type Settings } from "./config.ts";
import { parseAllow } from "./delivery/https/address-guard.ts";
import { didYouMean } from "./did-you-mean.ts";
import { type LogLines, linesTo, together } from "./log-lines.ts";
import { missingDatabase, openServer, openStore, whatIsMissing } from "./open.ts";
import { applyRules } from "./rules/override.ts";
import { STOP_MS, stopSignal } from "./stop-signal.ts";
import { NoEmbeddedServer } from "./store/embedded/binaries.ts";
import { FolderTaken } from "./store/embedded/seat.ts";
import { UnknownMigration } from "./store/migrate.ts";
import { UnreadableSecret } from "./store/secret-box.ts";
import { createTroubles, type Troubles, troublesHook } from "./troubles.ts";
import { version } from "./version.ts";

// The only place of environment and standard streams and, with clock.ts and open.ts, of clock and chance: everything else gets them as arguments.

const print = (line: string) => process.stdout.write(`${harmless(line)}\n`);
const complain = (line: string) => process.stderr.write(`${harmless(line)}\n`);

// A reader such as `head` can stop before the end. Then the command drops its output and finishes its work.
for (const stream of [process.stdout, process.stderr])
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
  });

process.exitCode = await run(process.argv.slice(2));

async function run(words: readonly string[]): Promise<number> {
  const isHelp = words[0] === "help" && words.length > 1;
  const { command, rest } = await commandIn(isHelp ? words.slice(1) : words);
  if (!command) return withoutCommand(isHelp ? words.slice(1) : words);
  if (isHelp || rest.includes("--help") || rest.includes("-h")) {
    print(commandHelp(command));
    return EXIT.ok;
  }
  const { settings, problems } = readSettings(process.env, allowProblem, new Date());
  if (problems.length > 0) return refuse(problems);
  if (settings.rules) applyRules(settings.rules);
  const lines = together(logLines(command, settings));
  try {
    const { values, positionals } = parse(command, rest);
    return await command.run(contextOf(command, settings, lines), values, positionals);
  } catch (error) {
    lines.flush(); // what was logged comes first
    return explain(error, command, settings);
  } finally {
    await lines.end();
  }
}

async function commandIn(words: readonly string[]): Promise<{ command: Command | undefined; rest: readonly string[] }> {
  for (const length of [3, 2, 1]) {
    const command = words.length >= length ? await findCommand(words.slice(0, length).join(" ")) : undefined;
    if (command) return { command, rest: words.slice(length) };
  }
  return { command: undefined, rest: words };
}

async function withoutCommand(words: readonly string[]): Promise<number> {
  const [first] = words;
  if (first === undefined || first === "--help" || first === "-h" || first === "help") {
    print(help(await allCommands()));
    return first === undefined ? EXIT.usage : EXIT.ok;
  }
  if (first === "--version") {
    print(version());
    return EXIT.ok;
  }
  complain(`dunlin: ${unknownCommand(words)}`);
  return EXIT.usage;
}

function parse(command: Command, words: readonly string[]) {
  const { values, positionals } = (() => {
    try {
      return parseArgs({ args: [...words], options: command.options, allowPositionals: true, strict: true });
    } catch (error) {
      const problem = (error as Error).message.split(/\.?\s+(?:To specify|Did you forget)/)[0]!;
      const [, dashed] = /^Option '(?:-., )?(--[^']+)' argument is ambiguous$/.exec(problem) ?? [];
      if (dashed)
        throw new UsageError(`${dashed} needs a value; one that begins with a dash is written ${dashed}=VALUE.`);
      const [, typed] = /^Unknown option '--([^']+)'$/.exec(problem) ?? [];
      const names = [...Object.keys(command.options), "help"].map((name) => `--${name}`);
      const meant = typed === undefined ? "" : didYouMean(`--${typed}`, names);
      throw new UsageError(`${problem}.${meant}`);
    }
  })();
  const missing = command.positionals[positionals.length];
  if (missing !== undefined) throw new UsageError(`${missing} is missing.`);
  if (positionals.length > command.positionals.length && !command.more)
    throw new UsageError(`"${positionals[command.positionals.length]}" is one word too many.`);
  return { values, positionals };
}

function contextOf(command: Command, settings: Settings, lines: LogLines): Context {
  const troubles = createTroubles(() => new Date());
  const log = openLog(command, settings, lines, troubles);
  return {
    settings,
    log,
    troubles,
    print,
    isTerminal: process.stdout.isTTY === true,
    output: process.stdout,
    input: () => process.stdin,
    aside: { print: complain, isTerminal: process.stderr.isTTY === true },
    async open() {
      const missing = command.begins ? null : whatIsMissing(settings);
      if (missing) throw new Failure(missing);
      return openStore(settings, "borrow", 2, log, () => {});
    },
    async server() {
      const missing = command.begins ? null : missingDatabase(settings);
      if (missing) throw new Failure(missing);
      return openServer(settings, log);
    },
    realNow: () => new Date(),
    monotonicMs: () => performance.now(),
    randomBytes,
    stopped: command.computes ? new Promise(() => {}) : stopSignal().then(() => void cutShort(log, lines)),
  };
}

/** The next process repeats work that is not over in time. */
function cutShort(log: Log, lines: LogLines) {
  const end = async () => {
    log.error({ afterMs: STOP_MS }, "service.stop_cut_short");
    await lines.end();
    process.exit(EXIT.failed);
  };
  setTimeout(end, STOP_MS).unref();
}

/** The service logs to standard error; the demo, whose lines are for people, to a file; other commands only trouble. */
function logLines({ logsTo }: Command, { dataDir }: Settings): LogLines {
  if (logsTo === "stderr" && isPipe(2)) return linesTo(new Socket({ fd: 2, readable: false, writable: true }));
  if (logsTo === "file") mkdirSync(dataDir, { recursive: true });
  // At once: pino writes what it keeps back before the last lines come, when the process ends.
  const lines = pino.destination({ dest: logsTo === "file" ? join(dataDir, "dunlin.log") : 2, sync: true });
  return { write: (line) => lines.write(line), end: async () => {} };
}

function isPipe(fd: number) {
  const stat = fstatSync(fd);
  return stat.isFIFO() || stat.isSocket();
}

function openLog(command: Command, { logLevel }: Settings, lines: LogLines, troubles: Troubles): Log {
  const options = {
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (level: string) => ({ level }) },
    level: command.logsTo ? logLevel : "error",
    hooks: { logMethod: troublesHook(troubles) },
  };
  return pino(options, lines);
}

function allowProblem(text: string): string | null {
  try {
    parseAllow(text);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

function refuse(problems: readonly Problem[]): number {
  complain(`config: ${problems.length} problem${problems.length === 1 ? "" : "s"}`);
  for (const { name, problem } of problems) complain(`  ${name} (environment)  ${problem}`);
  return EXIT.config;
}

function explain(error: unknown, command: Command, settings: Settings): number {
  if (error instanceof UsageError) {
    complain(`dunlin ${command.name}: ${error.message}`);
    complain(`Usage: npx dunlin ${command.name} ${command.usage.split("\n")[0]}`);
    complain(`"npx dunlin ${command.name} --help" says more.`);
    return EXIT.usage;
  }
  if (error instanceof Failure || error instanceof FolderTaken || error instanceof UnreadableSecret) {
    complain(`dunlin ${command.name}: ${error.message}`);
    return EXIT.failed;
  }
  if (error instanceof UnknownMigration || error instanceof NoEmbeddedServer) {
    complain(`dunlin ${command.name}: ${error.message}`);
    return EXIT.config;
  }
  if (error instanceof ConfigError) return refuse([{ name: error.setting, problem: error.message }]);
  const { code, syscall, port, message } = error as NodeJS.ErrnoException & { port?: number };
  const [name, host] =
    port === settings.metricsPort ? ["DUNLIN_METRICS_PORT", settings.metricsHost] : ["DUNLIN_PORT", settings.host];
  if (syscall === "listen") {
    const isTaken = code === "EADDRINUSE";
    complain(isTaken ? `dunlin ${command.name}: a port is taken` : "config: 1 problem");
    complain(
      `  ${name} (${host}:${port})  ${isTaken ? "is in use by another process. Stop it, or write another port." : message}`,
    );
    return isTaken ? EXIT.unreachable : EXIT.config;
  }
  const outage = unreachable(error, settings);
  if (outage) {
    complain(`dunlin ${command.name}: DATABASE_URL: ${outage}`);
    return EXIT.unreachable;
  }
  complain(`dunlin ${command.name}: ${message}`);
  complain((error as Error).stack ?? "");
  return EXIT.failed;
}
