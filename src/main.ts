import { randomBytes } from "node:crypto";
import { fstatSync, mkdirSync } from "node:fs";
import { Socket } from "node:net";
import { join } from "node:path";
import { parseArgs } from "node:util";
import pino, { type Logger as Log } from "pino";
import { type Command, type CommandContext, CommandFailure, EXIT_CODES, UsageError } from "./cli/command.ts";
import { findCommand, loadAllCommands } from "./cli/commands.ts";
import { formatCommandHelp, formatHelp } from "./cli/help.ts";
import { escapeTerminalText } from "./cli/terminal-text.ts";
import { describeUnknownCommand } from "./cli/unknown-command.ts";
import { describeUnreachableDatabase } from "./cli/unreachable-database.ts";
import { ConfigError, readSettings, type Settings } from "./config/config.ts";
import type { SettingProblem } from "./config/setting-reader.ts";
import { suggestName } from "./config/suggest-name.ts";
import { parseAllowList } from "./delivery/https/address-guard.ts";
import { applyRules } from "./engine/rules/rule-overrides.ts";
import { NoEmbeddedServer } from "./postgres/embedded/binaries.ts";
import { FolderInUse } from "./postgres/embedded/usage-lock.ts";
import { UnknownMigration } from "./postgres/migrate.ts";
import { batchLogLines, createLogOutput, type LogOutput } from "./process/log-output.ts";
import { createLoggedProblems, type LoggedProblems, loggedProblemsHook } from "./process/logged-problems.ts";
import { findMissingDatabase, findMissingInstallation, openServer, openStore } from "./process/open-store.ts";
import { FORCED_EXIT_MS, waitForStopSignal } from "./process/stop-signal.ts";
import { readVersion } from "./process/version.ts";
import { UnreadableSecret } from "./tables/secret-box.ts";

// Only this file uses the environment and standard streams. Time and randomness also enter in process/clock.ts and
// process/open-store.ts. Everything else gets them as arguments.

const print = (line: string) => process.stdout.write(`${escapeTerminalText(line)}\n`);
const printError = (line: string) => process.stderr.write(`${escapeTerminalText(line)}\n`);

// If a reader such as `head` stops early, the command drops its output and finishes its work.
for (const stream of [process.stdout, process.stderr])
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
  });

process.exitCode = await run(process.argv.slice(2));

async function run(words: readonly string[]): Promise<number> {
  const isHelp = words[0] === "help" && words.length > 1;
  const { command, rest } = await resolveCommand(isHelp ? words.slice(1) : words);
  if (!command) return runWithoutCommand(isHelp ? words.slice(1) : words);
  if (isHelp || rest.includes("--help") || rest.includes("-h")) {
    print(formatCommandHelp(command));
    return EXIT_CODES.ok;
  }
  const { settings, problems } = readSettings(process.env, findAllowListProblem, new Date());
  if (problems.length > 0) return reportProblems(problems);
  if (settings.rules) applyRules(settings.rules);
  const lines = batchLogLines(openLogOutput(command, settings));
  try {
    const { values, positionals } = parse(command, rest);
    return await command.run(createContext(command, settings, lines), values, positionals);
  } catch (error) {
    lines.flush(); // log lines come before the error
    return reportError(error, command, settings);
  } finally {
    await lines.end();
  }
}

async function resolveCommand(
  words: readonly string[],
): Promise<{ command: Command | undefined; rest: readonly string[] }> {
  for (const length of [3, 2, 1]) {
    const command = words.length >= length ? await findCommand(words.slice(0, length).join(" ")) : undefined;
    if (command) return { command, rest: words.slice(length) };
  }
  return { command: undefined, rest: words };
}

async function runWithoutCommand(words: readonly string[]): Promise<number> {
  const [first] = words;
  if (first === undefined || first === "--help" || first === "-h" || first === "help") {
    print(formatHelp(await loadAllCommands()));
    return first === undefined ? EXIT_CODES.usage : EXIT_CODES.ok;
  }
  if (first === "--version") {
    print(readVersion());
    return EXIT_CODES.ok;
  }
  printError(`dunlin: ${describeUnknownCommand(words)}`);
  return EXIT_CODES.usage;
}

function parse(command: Command, words: readonly string[]) {
  const { values, positionals } = (() => {
    try {
      return parseArgs({ args: [...words], options: command.options, allowPositionals: true, strict: true });
    } catch (error) {
      const problem = (error as Error).message.split(/\.?\s+(?:To specify|Did you forget)/)[0]!;
      const [, dashed] = /^Option '(?:-., )?(--[^']+)' argument is ambiguous$/.exec(problem) ?? [];
      if (dashed) throw new UsageError(`${dashed} needs a value. If it begins with a dash, write ${dashed}=VALUE.`);
      const [, typed] = /^Unknown option '--([^']+)'$/.exec(problem) ?? [];
      const names = [...Object.keys(command.options), "help"].map((name) => `--${name}`);
      const suggestion = typed === undefined ? "" : suggestName(`--${typed}`, names);
      throw new UsageError(`${problem}.${suggestion}`);
    }
  })();
  const missing = command.positionals[positionals.length];
  if (missing !== undefined) throw new UsageError(`${missing} is missing.`);
  if (positionals.length > command.positionals.length && !command.allowsMorePositionals)
    throw new UsageError(`"${positionals[command.positionals.length]}" is an unexpected argument.`);
  return { values, positionals };
}

function createContext(command: Command, settings: Settings, lines: LogOutput): CommandContext {
  const loggedProblems = createLoggedProblems(() => new Date());
  const log = openLog(command, settings, lines, loggedProblems);
  return {
    settings,
    log,
    loggedProblems: loggedProblems,
    print,
    isTerminal: process.stdout.isTTY === true,
    output: process.stdout,
    input: () => process.stdin,
    stderr: { print: printError, isTerminal: process.stderr.isTTY === true },
    async open() {
      const missing = command.createsDatabase ? null : findMissingInstallation(settings);
      if (missing) throw new CommandFailure(missing);
      return openStore(settings, "borrow", 2, log, () => {});
    },
    async server() {
      const missing = command.createsDatabase ? null : findMissingDatabase(settings);
      if (missing) throw new CommandFailure(missing);
      return openServer(settings, log);
    },
    realNow: () => new Date(),
    monotonicMs: () => performance.now(),
    randomBytes,
    stopped: command.blocksEventLoop
      ? new Promise(() => {})
      : waitForStopSignal().then(() => void exitEarly(log, lines)),
  };
}

/** A stop that takes too long ends here. The next process repeats unfinished work. */
function exitEarly(log: Log, lines: LogOutput) {
  const end = async () => {
    log.error({ afterMs: FORCED_EXIT_MS }, "service.stop_cut_short");
    await lines.end();
    process.exit(EXIT_CODES.failed);
  };
  setTimeout(end, FORCED_EXIT_MS).unref();
}

/** The service logs to standard error, the demo to a file, and other commands show only errors. */
function openLogOutput({ logsTo }: Command, { dataDir }: Settings): LogOutput {
  if (logsTo === "stderr" && isPipe(2)) return createLogOutput(new Socket({ fd: 2, readable: false, writable: true }));
  if (logsTo === "file") mkdirSync(dataDir, { recursive: true });
  // Synchronous: pino would write its buffer at exit, before the last lines arrive.
  const lines = pino.destination({ dest: logsTo === "file" ? join(dataDir, "dunlin.log") : 2, sync: true });
  return { write: (line) => lines.write(line), end: async () => {} };
}

function isPipe(fd: number) {
  const stat = fstatSync(fd);
  return stat.isFIFO() || stat.isSocket();
}

function openLog(command: Command, { logLevel }: Settings, lines: LogOutput, loggedProblems: LoggedProblems): Log {
  const options = {
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (level: string) => ({ level }) },
    level: command.logsTo ? logLevel : "error",
    hooks: { logMethod: loggedProblemsHook(loggedProblems) },
  };
  return pino(options, lines);
}

function findAllowListProblem(text: string): string | null {
  try {
    parseAllowList(text);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

function reportProblems(problems: readonly SettingProblem[]): number {
  printError(`config: ${problems.length} problem${problems.length === 1 ? "" : "s"}`);
  for (const { name, problem } of problems) printError(`  ${name} (environment)  ${problem}`);
  return EXIT_CODES.config;
}

function reportError(error: unknown, command: Command, settings: Settings): number {
  if (error instanceof UsageError) {
    printError(`dunlin ${command.name}: ${error.message}`);
    printError(`Usage: npx dunlin ${command.name} ${command.usage.split("\n")[0]}`);
    printError(`"npx dunlin ${command.name} --help" shows more.`);
    return EXIT_CODES.usage;
  }
  if (error instanceof CommandFailure) {
    printError(`dunlin ${command.name}: ${error.message}`);
    return error.exitCode;
  }
  if (error instanceof FolderInUse || error instanceof UnreadableSecret) {
    printError(`dunlin ${command.name}: ${error.message}`);
    return EXIT_CODES.failed;
  }
  if (error instanceof UnknownMigration || error instanceof NoEmbeddedServer) {
    printError(`dunlin ${command.name}: ${error.message}`);
    return EXIT_CODES.config;
  }
  if (error instanceof ConfigError) return reportProblems([{ name: error.setting, problem: error.message }]);
  const { code, syscall, port, message } = error as NodeJS.ErrnoException & { port?: number };
  const [name, host] =
    port === settings.metricsPort ? ["DUNLIN_METRICS_PORT", settings.metricsHost] : ["DUNLIN_PORT", settings.host];
  if (syscall === "listen") {
    const isTaken = code === "EADDRINUSE";
    printError(isTaken ? `dunlin ${command.name}: a port is in use` : "config: 1 problem");
    printError(
      `  ${name} (${host}:${port})  ${isTaken ? "is in use by another process. Stop that process, or set another port." : message}`,
    );
    return isTaken ? EXIT_CODES.unreachable : EXIT_CODES.config;
  }
  const outage = describeUnreachableDatabase(error, settings);
  if (outage) {
    printError(`dunlin ${command.name}: DATABASE_URL: ${outage}`);
    return EXIT_CODES.unreachable;
  }
  printError(`dunlin ${command.name}: ${message}`);
  printError((error as Error).stack ?? "");
  return EXIT_CODES.failed;
}
