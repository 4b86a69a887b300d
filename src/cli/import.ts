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

export const importHistory: Command = {
  name: "import",
  usage: `FILE --merchant M --as subscriptions|invoices|transactions [options]
  --dry-run                check every row and store nothing
  --errors FILE            write invalid fields to this CSV file, one per line: line, column, error${CSV_FORMAT_USAGE}

  FILE is CSV with a header line, JSONL (.jsonl, .ndjson) with one API record per line, or a JSON list of records (.json).
  Cells with NULL, \\N, N/A, #N/A, None, NaN, nil or undefined are read as empty.`,
  summary: "Import subscriptions, invoices or transactions from a file, without opening cases",
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
    const { recordKind: kind, store } = HISTORY_KIND_BY_NAME[name];
    const csvFormat = parseCsvFormatOptions(values, kind.fields, kind.fields.get("state")!.values!);
    if (!existsSync(file!)) throw new CommandFailure(`There is no file ${file}.`);
    return withDatabase(context, async ({ db, tenantDb, ports }) => {
      const merchant = await findMerchant(db, merchantId);
      if (!merchant)
        throw new CommandFailure(`There is no merchant ${merchantId}. "npx dunlin merchant list" shows them.`);
      const identity = [
        merchantId,
        name,
        JSON.stringify({ ...csvFormat, columns: [...csvFormat.columns], states: [...csvFormat.states] }),
      ];
      const checkpoint = openImportCheckpoint(context.settings.dataDir, file!, identity, ports.newId);
      const showProgress = createProgressBar(context, statSync(file!).size);
      if (checkpoint.storedRows() === undefined || values["dry-run"]) {
        const checked = await importFile(openHistoryFile(file!, "checked", showProgress), kind, csvFormat, undefined, {
          now: ports.now(),
          skewMs: context.settings.clockSkewMs,
        });
        if (checked.broken !== null) throw new CommandFailure(checked.broken);
        if (checked.wrong.length > 0) return printErrors(context, checked, textOption(values, "errors"));
        printChecked(context, checked);
        if (checked.rows === 0 || values["dry-run"]) return EXIT_CODES.ok;
        checkpoint.setStoredRows(0);
      }
      const skippedRows = checkpoint.storedRows()!;
      if (skippedRows > 0)
        context.print(
          `Resuming after ${formatRowCount(skippedRows)} that ${skippedRows === 1 ? "is" : "are"} already stored.`,
        );
      let rows = 0;
      let known = 0;
      const { wrong, broken } = await importFile(
        openHistoryFile(file!, "stored", showProgress),
        kind,
        csvFormat,
        async (records) => {
          rows += records.length;
          if (rows <= skippedRows) return;
          let notified: Promise<unknown> = Promise.resolve();
          // The service may already have read the withdrawn events.
          const onWithdrawn: OnWithdrawn = (...withdrawn) => {
            notified = notify(db, withdrawnMessages(...withdrawn));
          };
          const { stored } = await store(tenantDb.of(merchantId), merchant, records, ports, onWithdrawn);
          known += records.length - stored;
          await notified;
          checkpoint.setStoredRows(rows);
        },
      );
      if (broken !== null) throw new CommandFailure(broken);
      if (wrong.length > 0)
        throw new CommandFailure(
          `The file changed during the import: line ${wrong[0]!.line} is now invalid. Run the import again.`,
        );
      const imported = { kind: name, file: basename(file!), rows, known, whole: true };
      await auditImport(db, merchantId, COMMAND_LINE_ACTOR, imported, ports);
      checkpoint.remove();
      const skipped = ` Skipped ${known.toLocaleString("en")}: the same or a newer version is already stored.`;
      context.print(`Stored ${formatRowCount(rows - skippedRows - known)}.${known > 0 ? skipped : ""}`);
      return EXIT_CODES.ok;
    });
  },
};

function printChecked(context: CommandContext, checked: FileImportResult) {
  const { header, rows, first } = checked;
  if (rows === 0) {
    context.print("The file has no rows.");
    return;
  }
  const valid = rows === 1 ? "It is valid:" : "All are valid. The first is";
  context.print(`Checked ${formatRowCount(rows)}. ${valid} ${describeRow(first[0]!)}.`);
  // A renamed column, such as the decline code, would otherwise go unnoticed.
  const ignored = formatColumnList(ignoredColumns(header ?? []));
  if (ignored !== "") context.print(`Ignored columns (no matching field): ${ignored}`);
  printStateWords(context, checked);
  const duplicates = duplicatesText(checked);
  if (duplicates !== null) context.print(`${duplicates}; the newest version counts.`);
}

export function merchantOption(values: OptionValues): string {
  const merchantId = textOption(values, "merchant");
  if (merchantId === undefined || !isUuid(merchantId)) throw new UsageError("--merchant takes the id of a merchant.");
  return merchantId;
}

export function recordKindOption<Name extends string>(values: OptionValues, names: readonly Name[]): Name {
  const name = names.find((each) => each === textOption(values, "as"));
  if (!name) throw new UsageError(`--as takes one of ${names.join(", ")}.`);
  return name;
}

export const formatRowCount = (n: number) => `${n.toLocaleString("en")} ${n === 1 ? "row" : "rows"}`;

/** "EUR 49.00 at 2026-01-31T12:00:00.000Z". Shows whether whole numbers were read as minor or major units. */
const describeRow = ({ amount, currency, createdAt }: Record<string, unknown>) =>
  `${formatMoneyText(amount as number, currency as string)} at ${(createdAt as Date).toISOString()}`;

function openHistoryFile(path: string, verb: string, showProgress: ProgressBar): HistoryFile {
  async function* bytes(): AsyncGenerator<Buffer> {
    let read = 0;
    for await (const piece of createReadStream(path) as AsyncIterable<Buffer>) {
      read += piece.length;
      showProgress(verb, read);
      yield piece;
    }
  }
  return { name: path, bytes: bytes() };
}

const SHOWN_ERRORS_MAX = 10;

type ProgressBar = (verb: string, bytes: number) => void;

function printStateWords(context: CommandContext, checked: FileImportResult) {
  // A misspelled word would otherwise go unnoticed.
  if (checked.unmet.length > 0) {
    const words = checked.unmet.map((word) => `"${word}"`).join(" or ");
    context.print(`Unused in --states: no row has the state ${words}.`);
  }
  const absent = absentCellsText(checked);
  if (absent !== null) context.print(`Read as empty: ${absent}`);
}

function printErrors(context: CommandContext, checked: FileImportResult, errors: string | undefined): number {
  const { wrong, place } = checked;
  const cell = (value: string) => (/[",\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
  const row = (line: number, column: string, says: string) => [String(line), column, says].map(cell).join(",");
  const heading = `${place},column,error`;
  if (errors !== undefined) {
    const all = listFaults(wrong).map(({ line, column, says }) => row(line, column, says));
    writeFileSync(errors, `${[heading, ...all].join("\n")}\n`);
  } else {
    const groups = groupFaults(wrong).slice(0, SHOWN_ERRORS_MAX);
    const shown = groups.map((fault) => row(fault.lines[0]!, fault.column, groupedFaultText(fault, place)));
    for (const line of [heading, ...shown]) context.print(line);
  }
  printStateWords(context, checked);
  const invalidRows =
    wrong.length >= INVALID_ROWS_MAX ? `${formatRowCount(INVALID_ROWS_MAX)} or more` : formatRowCount(wrong.length);
  const verb = wrong.length === 1 ? "is" : "are";
  const where = errors === undefined ? "" : ` (see ${errors})`;
  context.print(`${invalidRows} ${verb} invalid${where}. Nothing was stored.`);
  return EXIT_CODES.failed;
}

const PROGRESS_BAR_CHARS = 40;

function createProgressBar(lines: LineOutput, size: number): ProgressBar {
  const show = createProgressLine(lines);
  return (verb, bytes) => {
    const share = Math.min(1, bytes / Math.max(1, size));
    show(
      `${"█".repeat(Math.floor(share * PROGRESS_BAR_CHARS)).padEnd(PROGRESS_BAR_CHARS, "░")} ${Math.floor(share * 100)}% ${verb}`,
    );
  };
}
