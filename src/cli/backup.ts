import { existsSync, statSync } from "node:fs";
import { UnknownMigration } from "../store/migrate.ts";
import { NotCopied, readWhole, sessionsOf, writeWhole } from "../store/whole-database.ts";
import { checkBackup, readBackup, type Totals, writeBackup } from "./backup-file.ts";
import { type Command, type Context, EXIT, Failure, UsageError } from "./command.ts";
import { growingLine } from "./growing-line.ts";
import { secretOf, secretOptions } from "./secret-options.ts";

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
    if (existsSync(file!) && values.force !== true) throw new Failure(`${file} is there already; --force replaces it`);
    const server = await context.server();
    try {
      const begunMs = context.monotonicMs();
      const unfinished = `${file}.${context.randomBytes(4).toString("hex")}.new`;
      const written = await writeBackup(file!, readWhole(server.address), unfinished);
      const found = await checkBackup(file!);
      if (found.rows !== written.rows) throw new Failure(`${file} holds ${found.rows} rows of ${written.rows}`);
      context.print(
        `${rowsWords(written)}, ${sizeWords(file!)}, ${secondsWords(context, begunMs)}; read again and whole`,
      );
      context.print("The secret key is not in it. Keep secret.key, or DUNLIN_SECRET_KEY, in another place.");
      return EXIT.ok;
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
    if (!existsSync(file!)) throw new Failure(`there is no file ${file}`);
    const server = await context.server();
    try {
      await copied(context, (onTable) => writeWhole(server.address, readBackup(file!), context.log, onTable));
      context.print("Start the service with the secret key of the database that was backed up.");
      return EXIT.ok;
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
    const url = await secretOf(context, values, "to", (value) => /:\/\/[^/@]*:[^/@]*@|[?&]password=/.test(value));
    if (!url || !/^postgres(ql)?:\/\//.test(url))
      throw new UsageError("--to and --to-file take the address of a database: postgres://USER@HOST/DATABASE.");
    const server = await context.server();
    try {
      // Its writes meanwhile would be left behind.
      if ((await sessionsOf(server.address)) > server.sessions)
        throw new Failure("the service is running. Stop it first: what it writes meanwhile would be left behind");
      await copied(context, (onTable) => writeWhole({ url }, readWhole(server.address), context.log, onTable));
      context.print(
        "Set DATABASE_URL to it, keep the secret key as it is, and start the service. What is here stays as it was.",
      );
      return EXIT.ok;
    } finally {
      await server.close();
    }
  },
};

/** Runs a copy, and says what arrived. */
async function copied(context: Context, copy: (onTable: (table: string, rows: number) => void) => Promise<void>) {
  const begunMs = context.monotonicMs();
  const show = growingLine(context);
  const totals: Totals = { tables: 0, rows: 0 };
  const onTable = (table: string, rows: number) => {
    totals.tables++;
    totals.rows += rows;
    show(`${rowsWords(totals)} so far, the last one ${table}`);
  };
  try {
    await copy(onTable);
  } catch (error) {
    const isSaid = error instanceof NotCopied || error instanceof UnknownMigration || error instanceof Failure;
    throw isSaid ? new Failure(`nothing was written: ${error.message}`) : error;
  }
  context.print(`${rowsWords(totals)}, ${secondsWords(context, begunMs)}; all arrived as they were`);
}

const rowsWords = ({ tables, rows }: Totals) => `${rows.toLocaleString("en-US")} rows of ${tables} tables`;
const sizeWords = (file: string) => `${(statSync(file).size / 1e6).toFixed(1)} MB`;
const secondsWords = ({ monotonicMs }: Context, begunMs: number) =>
  `${((monotonicMs() - begunMs) / 1_000).toFixed(1)} s`;
