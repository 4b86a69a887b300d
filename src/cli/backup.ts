import { existsSync, statSync } from "node:fs";
import { countOtherSessions, RestoreRefused, readDump, restoreDump } from "../postgres/database-dump.ts";
import { UnknownMigration } from "../postgres/migrate.ts";
import { type BackupTotals, checkBackup, readBackup, writeBackup } from "./backup-file.ts";
import { type Command, type CommandContext, CommandFailure, EXIT_CODES, UsageError } from "./command.ts";
import { createProgressLine } from "./progress-line.ts";
import { readSecretOption, secretOptions } from "./secret-options.ts";

export const backup: Command = {
  name: "backup",
  usage: `FILE [--force]
  --force       replace an existing file`,
  summary: "Back up the whole database to a file, as one consistent snapshot, while the service runs",
  options: { force: { type: "boolean" } },
  positionals: ["FILE"],
  examples: ["npx dunlin backup /var/backups/dunlin-2027-01-31.backup"],
  async run(context, values, [file]) {
    if (existsSync(file!) && values.force !== true)
      throw new CommandFailure(`${file} already exists. To replace it, add --force.`);
    const server = await context.server();
    try {
      const startedMs = context.monotonicMs();
      const temporaryPath = `${file}.${context.randomBytes(4).toString("hex")}.new`;
      const written = await writeBackup(file!, readDump(server.address), temporaryPath);
      const found = await checkBackup(file!);
      if (found.rows !== written.rows)
        throw new CommandFailure(
          `${file} is damaged: it has ${found.rows} rows instead of ${written.rows}. Run the backup again.`,
        );
      context.print(
        `Backed up ${formatRowTotals(written)} (${formatFileSize(file!)}) in ${formatElapsed(context, startedMs)}, and verified the file.`,
      );
      context.print("The backup does not contain the secret key. Keep secret.key or DUNLIN_SECRET_KEY elsewhere.");
      return EXIT_CODES.ok;
    } finally {
      await server.close();
    }
  },
};

export const restore: Command = {
  name: "restore",
  usage: `FILE
  Restores into the database that the service would use: DATABASE_URL, or the embedded one in DUNLIN_DATA. It must be empty.`,
  summary: "Restore a backup into an empty database, all or nothing, and verify the result",
  options: {},
  positionals: ["FILE"],
  createsDatabase: true,
  examples: ["DATABASE_URL=postgres://… npx dunlin restore /var/backups/dunlin-2027-01-31.backup"],
  async run(context, _values, [file]) {
    if (!existsSync(file!)) throw new CommandFailure(`There is no file ${file}.`);
    const server = await context.server();
    try {
      await runCopy(context, (onTable) => restoreDump(server.address, readBackup(file!), context.log, onTable));
      context.print("Start the service with the secret key of the original database.");
      return EXIT_CODES.ok;
    } finally {
      await server.close();
    }
  },
};

export const move: Command = {
  name: "move",
  usage: `--to URL | --to-file F
  --to URL      target: an empty database on PostgreSQL 15 or newer, in the form of DATABASE_URL
  --to-file F   file with the URL, if it contains a password; - is standard input`,
  summary: "Move all data to another database, such as from the embedded one to your own server",
  options: secretOptions("to"),
  positionals: [],
  examples: ["npx dunlin move --to postgres://dunlin@db.internal/dunlin"],
  async run(context, values) {
    const url = await readSecretOption(context, values, "to", (value) =>
      /:\/\/[^/@]*:[^/@]*@|[?&]password=/.test(value),
    );
    if (!url || !/^postgres(ql)?:\/\//.test(url))
      throw new UsageError("--to and --to-file take the URL of a database: postgres://USER@HOST/DATABASE.");
    const server = await context.server();
    try {
      if ((await countOtherSessions(server.address)) > server.sessions)
        throw new CommandFailure(
          "The service is running. Stop it first: records that it writes during the move would be left behind.",
        );
      await runCopy(context, (onTable) => restoreDump({ url }, readDump(server.address), context.log, onTable));
      context.print(
        "Set DATABASE_URL to the new database, keep the secret key, and start the service. The old database is unchanged.",
      );
      return EXIT_CODES.ok;
    } finally {
      await server.close();
    }
  },
};

async function runCopy(
  context: CommandContext,
  copy: (onTable: (table: string, rows: number) => void) => Promise<void>,
) {
  const startedMs = context.monotonicMs();
  const show = createProgressLine(context);
  const totals: BackupTotals = { tables: 0, rows: 0 };
  const onTable = (table: string, rows: number) => {
    totals.tables++;
    totals.rows += rows;
    show(`${formatRowTotals(totals)} so far, last table: ${table}`);
  };
  try {
    await copy(onTable);
  } catch (error) {
    const isExpected =
      error instanceof RestoreRefused || error instanceof UnknownMigration || error instanceof CommandFailure;
    throw isExpected ? new CommandFailure(`Nothing was written: ${error.message}`) : error;
  }
  context.print(`Copied ${formatRowTotals(totals)} in ${formatElapsed(context, startedMs)}, and verified them.`);
}

const formatRowTotals = ({ tables, rows }: BackupTotals) => `${rows.toLocaleString("en-US")} rows of ${tables} tables`;
const formatFileSize = (file: string) => `${(statSync(file).size / 1e6).toFixed(1)} MB`;
const formatElapsed = ({ monotonicMs }: CommandContext, startedMs: number) =>
  `${((monotonicMs() - startedMs) / 1_000).toFixed(1)} s`;
