import { existsSync, statSync } from "node:fs";
import { countOtherSessions, RestoreRefused, readDump, restoreDump } from "../postgres/database-dump.ts";
import { UnknownMigration } from "../postgres/migrate.ts";
import { type BackupTotals, checkBackup, readBackup, writeBackup } from "./backup-file.ts";
import { type Command, type CommandContext, CommandFailure, EXIT_CODES, UsageError } from "./command.ts";
import { createProgressLine } from "./progress-line.ts";
import { readSecretOption, secretOptions } from "./secret-options.ts";

/** `dunlin backup`: the whole database in one file. */
export const backup: Command = {
  name: "backup",
  usage: `FILE [--force]
  --force       replaces a file that is there already`,
  summary: "Back up the whole database to a file, as it is in one moment, while the service runs",
  options: { force: { type: "boolean" } },
  positionals: ["FILE"],
  examples: ["npx dunlin backup /var/backups/dunlin-2027-01-31.backup"],
  async run(context, values, [file]) {
    if (existsSync(file!) && values.force !== true)
      throw new CommandFailure(`${file} is there already; --force replaces it`);
    const server = await context.server();
    try {
      const begunMs = context.monotonicMs();
      const unfinished = `${file}.${context.randomBytes(4).toString("hex")}.new`;
      const written = await writeBackup(file!, readDump(server.address), unfinished);
      const found = await checkBackup(file!);
      if (found.rows !== written.rows) throw new CommandFailure(`${file} holds ${found.rows} rows of ${written.rows}`);
      context.print(
        `${formatRowTotals(written)}, ${formatFileSize(file!)}, ${formatElapsed(context, begunMs)}; read again and whole`,
      );
      context.print("The secret key is not in it. Keep secret.key, or DUNLIN_SECRET_KEY, in another place.");
      return EXIT_CODES.ok;
    } finally {
      await server.close();
    }
  },
};

/** `dunlin restore`: such a file into an empty database. */
export const restore: Command = {
  name: "restore",
  usage: `FILE
  The database is the one that the service would use: DATABASE_URL, or the embedded one in DUNLIN_DATA. It has to be empty.`,
  summary: "Restore a backup into an empty database, all of it or nothing, and compare what arrived",
  options: {},
  positionals: ["FILE"],
  begins: true,
  examples: ["DATABASE_URL=postgres://… npx dunlin restore /var/backups/dunlin-2027-01-31.backup"],
  async run(context, _values, [file]) {
    if (!existsSync(file!)) throw new CommandFailure(`there is no file ${file}`);
    const server = await context.server();
    try {
      await runCopy(context, (onTable) => restoreDump(server.address, readBackup(file!), context.log, onTable));
      context.print("Start the service with the secret key of the database that was backed up.");
      return EXIT_CODES.ok;
    } finally {
      await server.close();
    }
  },
};

/** `dunlin move`: from one database to another. */
export const move: Command = {
  name: "move",
  usage: `--to URL | --to-file F
  --to URL      where to: an empty database of PostgreSQL 15 or newer, as DATABASE_URL takes it
  --to-file F   a file with the URL, if it holds a password; - is standard input`,
  summary: "Move everything to another database, as from the embedded one to a server of your own",
  options: secretOptions("to"),
  positionals: [],
  examples: ["npx dunlin move --to postgres://dunlin@db.internal/dunlin"],
  async run(context, values) {
    const url = await readSecretOption(context, values, "to", (value) =>
      /:\/\/[^/@]*:[^/@]*@|[?&]password=/.test(value),
    );
    if (!url || !/^postgres(ql)?:\/\//.test(url))
      throw new UsageError("--to and --to-file take the address of a database: postgres://USER@HOST/DATABASE.");
    const server = await context.server();
    try {
      // Its writes meanwhile would be left behind.
      if ((await countOtherSessions(server.address)) > server.sessions)
        throw new CommandFailure(
          "the service is running. Stop it first: what it writes meanwhile would be left behind",
        );
      await runCopy(context, (onTable) => restoreDump({ url }, readDump(server.address), context.log, onTable));
      context.print(
        "Set DATABASE_URL to it, keep the secret key as it is, and start the service. What is here stays as it was.",
      );
      return EXIT_CODES.ok;
    } finally {
      await server.close();
    }
  },
};

/** Runs a copy, and says what arrived. */
async function runCopy(
  context: CommandContext,
  copy: (onTable: (table: string, rows: number) => void) => Promise<void>,
) {
  const begunMs = context.monotonicMs();
  const show = createProgressLine(context);
  const totals: BackupTotals = { tables: 0, rows: 0 };
  const onTable = (table: string, rows: number) => {
    totals.tables++;
    totals.rows += rows;
    show(`${formatRowTotals(totals)} so far, the last one ${table}`);
  };
  try {
    await copy(onTable);
  } catch (error) {
    const isSaid =
      error instanceof RestoreRefused || error instanceof UnknownMigration || error instanceof CommandFailure;
    throw isSaid ? new CommandFailure(`nothing was written: ${error.message}`) : error;
  }
  context.print(`${formatRowTotals(totals)}, ${formatElapsed(context, begunMs)}; all arrived as they were`);
}

const formatRowTotals = ({ tables, rows }: BackupTotals) => `${rows.toLocaleString("en-US")} rows of ${tables} tables`;
const formatFileSize = (file: string) => `${(statSync(file).size / 1e6).toFixed(1)} MB`;
const formatElapsed = ({ monotonicMs }: CommandContext, begunMs: number) =>
  `${((monotonicMs() - begunMs) / 1_000).toFixed(1)} s`;
