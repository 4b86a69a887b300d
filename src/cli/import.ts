import { createReadStream, existsSync, statSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { formatColumnList } from "../domain/csv-format.ts";
import { formatMoneyText } from "../domain/currency.ts";
import type { OnWithdrawn } from "../domain/event.ts";
import { COMMAND_LINE_ACTOR } from "../domain/person.ts";
import { auditImport } from "../import/audit-import.ts";
import type { HistoryFile } from "../import/file-rows.ts";
import {
  absentCellsText,
  duplicatesText,
  type FileImportResult,
  groupedFaultText,
  groupFaults,
  INVALID_ROWS_MAX,
  ignoredColumns,
  importFile,
  listFaults,
} from "../import/import-file.ts";
import { HISTORY_KIND_BY_NAME, KIND_NAMES } from "../import/record-kinds.ts";
import { notify, withdrawnMessages } from "../postgres/notifications.ts";
import { findMerchant } from "../tables/merchants.ts";
import {
  type Command,
  type CommandContext,
  CommandFailure,
  EXIT_CODES,
  isUuid,
  type LineOutput,
  type OptionValues,
  textOption,
  UsageError,
  withDatabase,
} from "./command.ts";
import { CSV_FORMAT_OPTIONS, CSV_FORMAT_USAGE, parseCsvFormatOptions } from "./csv-format-options.ts";
import { openImportCheckpoint } from "./import-checkpoint.ts";
import { createProgressLine } from "./progress-line.ts";

/** `dunlin import`: a merchant's history from a file. It teaches, and opens no case. */
export const importHistory: Command = {
  name: "import",
  usage: `FILE --merchant M --as subscriptions|invoices|transactions [options]
  --dry-run                checks every row and stores nothing
  --errors FILE            where the wrong rows go, as CSV: line, column, error; a line for each field that is wrong${CSV_FORMAT_USAGE}

  FILE is CSV with a first line of column names, JSONL (.jsonl, .ndjson) with a record of the API in each line, or
  JSON with a list of them (.json).
  Cells that say NULL, \\N, N/A, #N/A, None, NaN, nil or undefined are read as empty.`,
  summary: "Import subscriptions, invoices or transactions from a file; no case is opened by them",
  options: {
    merchant: { type: "string" },
    as: { type: "string" },
    ...CSV_FORMAT_OPTIONS,
    "dry-run": { type: "boolean" },
    errors: { type: "string" },
  },
  positionals: ["FILE"],
  examples: [
    "npx dunlin import invoices.csv --merchant 0198… --as invoices --map id=number,amount=total_cents --dry-run",
    "npx dunlin import attempts.csv --merchant 0198… --as transactions --dates dmy --decimals comma --states Authorised=PAID",
    "npx dunlin import attempts.jsonl --merchant 0198… --as transactions",
  ],
  async run(context, values, [file]) {
    const merchantId = merchantOption(values);
    const name = recordKindOption(values, KIND_NAMES);
    const { kind, store } = HISTORY_KIND_BY_NAME[name];
    const reading = parseCsvFormatOptions(values, kind.fields, kind.fields.get("state")!.values!);
    if (!existsSync(file!)) throw new CommandFailure(`there is no file ${file}`);
    return withDatabase(context, async ({ db, walled, ports }) => {
      const merchant = await findMerchant(db, merchantId);
      if (!merchant) throw new CommandFailure(`there is no merchant ${merchantId}`);
      const what = [
        merchantId,
        name,
        JSON.stringify({ ...reading, columns: [...reading.columns], states: [...reading.states] }),
      ];
      const bookmark = openImportCheckpoint(context.settings.dataDir, file!, what, ports.newId);
      const bar = createProgressBar(context, statSync(file!).size);
      if (bookmark.stored() === undefined || values["dry-run"]) {
        const taken = await importFile(openHistoryFile(file!, "checked", bar), kind, reading, undefined, {
          now: ports.now(),
          skewMs: context.settings.clockSkewMs,
        });
        const { header, rows, first, broken } = taken;
        if (broken !== null) throw new CommandFailure(broken);
        if (taken.wrong.length > 0) return printErrors(context, taken, textOption(values, "errors"));
        if (rows === 0) {
          context.print("there are no rows in the file");
          return EXIT_CODES.ok;
        }
        context.print(
          `${formatRowCount(rows)} ${rows === 1 ? "is" : "are"} right; the first is ${describeRow(first[0]!)}`,
        );
        // A decline code in a column of another name would be missed by nobody.
        const over = formatColumnList(ignoredColumns(header ?? []));
        if (over !== "") context.print(`columns that hold no field, and are passed over: ${over}`);
        printStateWords(context, taken);
        const copies = duplicatesText(taken);
        if (copies !== null) context.print(`${copies}; the newest copy of a record counts`);
        if (values["dry-run"]) return EXIT_CODES.ok;
        bookmark.set(0);
      }
      const skip = bookmark.stored()!;
      if (skip > 0) context.print(`goes on after ${formatRowCount(skip)} stored already`);
      let rows = 0;
      let known = 0;
      const { wrong, broken } = await importFile(
        openHistoryFile(file!, "stored", bar),
        kind,
        reading,
        async (records) => {
          rows += records.length;
          if (rows <= skip) return;
          let told: Promise<unknown> = Promise.resolve();
          // The service may have read them ahead.
          const tell: OnWithdrawn = (...withdrawn) => {
            told = notify(db, withdrawnMessages(...withdrawn));
          };
          known += records.length - (await store(walled.of(merchantId), merchant, records, ports, tell)).stored;
          await told;
          bookmark.set(rows);
        },
      );
      if (broken !== null) throw new CommandFailure(broken);
      if (wrong.length > 0)
        throw new CommandFailure(`the file was changed: line ${wrong[0]!.line} is not right any more`);
      const done = { kind: name, file: basename(file!), rows, known, whole: true };
      await auditImport(db, merchantId, COMMAND_LINE_ACTOR, done, ports);
      bookmark.remove();
      const there = `; of ${formatRowCount(known)} the same or a newer copy was there, and stays`;
      context.print(`${formatRowCount(rows - skip - known)} stored${known > 0 ? there : ""}`);
      return EXIT_CODES.ok;
    });
  },
};

/** Whose the rows of a file are. */
export function merchantOption(values: OptionValues): string {
  const merchantId = textOption(values, "merchant");
  if (merchantId === undefined || !isUuid(merchantId)) throw new UsageError("--merchant takes the id of a merchant.");
  return merchantId;
}

/** What the rows of a file are. */
export function recordKindOption<Name extends string>(values: OptionValues, names: readonly Name[]): Name {
  const name = names.find((each) => each === textOption(values, "as"));
  if (!name) throw new UsageError(`--as takes one of ${names.join(", ")}.`);
  return name;
}

export const formatRowCount = (n: number) => `${n.toLocaleString("en")} ${n === 1 ? "row" : "rows"}`;

/** "EUR 49.00 at 2026-01-31T12:00:00.000Z": whole numbers are amounts with and without --decimals, and a person sees here which they were taken for. */
const describeRow = ({ amount, currency, createdAt }: Record<string, unknown>) =>
  `${formatMoneyText(amount as number, currency as string)} at ${(createdAt as Date).toISOString()}`;

/** The file, with a line that grows as it is read. */
function openHistoryFile(path: string, doing: string, bar: ProgressBar): HistoryFile {
  async function* bytes(): AsyncGenerator<Buffer> {
    let read = 0;
    for await (const piece of createReadStream(path) as AsyncIterable<Buffer>) {
      read += piece.length;
      bar(doing, read);
      yield piece;
    }
  }
  return { name: path, bytes: bytes() };
}

const SHOWN_ERRORS_MAX = 10;

type ProgressBar = (doing: string, bytes: number) => void;

function printStateWords(context: CommandContext, taken: FileImportResult) {
  // A misspelled word would leave its rows what they are without it.
  if (taken.unmet.length > 0) context.print(`words of --states that no row has: ${taken.unmet.join(", ")}`);
  const absent = absentCellsText(taken);
  if (absent !== null) context.print(`read as empty: ${absent}`);
}

function printErrors(context: CommandContext, taken: FileImportResult, errors: string | undefined): number {
  const { wrong, place } = taken;
  const cell = (value: string) => (/[",\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
  const row = (line: number, column: string, says: string) => [String(line), column, says].map(cell).join(",");
  const heading = `${place},column,error`;
  if (errors !== undefined) {
    const all = listFaults(wrong).map(({ line, column, says }) => row(line, column, says));
    writeFileSync(errors, `${[heading, ...all].join("\n")}\n`);
  } else {
    const alike = groupFaults(wrong).slice(0, SHOWN_ERRORS_MAX);
    const shown = alike.map((fault) => row(fault.lines[0]!, fault.column, groupedFaultText(fault, place)));
    for (const line of [heading, ...shown]) context.print(line);
  }
  printStateWords(context, taken);
  const many =
    wrong.length >= INVALID_ROWS_MAX ? `${formatRowCount(INVALID_ROWS_MAX)} or more` : formatRowCount(wrong.length);
  context.print(
    `${many} ${wrong.length === 1 ? "is" : "are"} wrong${errors === undefined ? "" : `, see ${errors}`}; nothing was stored`,
  );
  return EXIT_CODES.failed;
}

const PROGRESS_BAR_CHARS = 40;

function createProgressBar(lines: LineOutput, size: number): ProgressBar {
  const show = createProgressLine(lines);
  return (doing, bytes) => {
    const share = Math.min(1, bytes / Math.max(1, size));
    show(
      `${"█".repeat(Math.floor(share * PROGRESS_BAR_CHARS)).padEnd(PROGRESS_BAR_CHARS, "░")} ${Math.floor(share * 100)}% ${doing}`,
    );
  };
}
