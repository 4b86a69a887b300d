import { createReadStream, existsSync, statSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { moneyWords } from "../domain/currency.ts";
import { COMMAND_LINE } from "../domain/person.ts";
import { listedColumns } from "../domain/reading.ts";
import { auditImport } from "../history/audit-import.ts";
import { HISTORY_KINDS, KIND_NAMES } from "../history/kinds.ts";
import type { HistoryFile } from "../history/rows.ts";
import {
  absentWords,
  alikeFaultsOf,
  alikeWords,
  copiesWords,
  faultsOf,
  passedOver,
  type Taken,
  takeRows,
  WRONG_MAX,
} from "../history/take-rows.ts";
import type { OnWithdrawn } from "../recovery/stored.ts";
import { notify, withdrawnNotes } from "../store/hints.ts";
import { findMerchant } from "../store/merchants.ts";
import { bookmarkOf } from "./bookmark.ts";
import {
  type Command,
  type Context,
  EXIT,
  Failure,
  isUuid,
  type Lines,
  text,
  UsageError,
  type Values,
  withDatabase,
} from "./command.ts";
import { growingLine } from "./growing-line.ts";
import { READING_OPTIONS, READING_USAGE, readingOption } from "./reading-options.ts";

/** `dunlin import`: a merchant's history from a file. It teaches, and opens no case. */
export const importHistory: Command = {
  name: "import",
  usage: `FILE --merchant M --as subscriptions|invoices|transactions [options]
  --dry-run                checks every row and stores nothing
  --errors FILE            where the wrong rows go, as CSV: line, column, error; a line for each field that is wrong${READING_USAGE}

  FILE is CSV with a first line of column names, JSONL (.jsonl, .ndjson) with a record of the API in each line, or
  JSON with a list of them (.json).
  Cells that say NULL, \\N, N/A, #N/A, None, NaN, nil or undefined are read as empty.`,
  summary: "Import subscriptions, invoices or transactions from a file; no case is opened by them",
  options: {
    merchant: { type: "string" },
    as: { type: "string" },
    ...READING_OPTIONS,
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
    const name = asOption(values, KIND_NAMES);
    const { kind, store } = HISTORY_KINDS[name];
    const reading = readingOption(values, kind.fields, kind.fields.get("state")!.words!);
    if (!existsSync(file!)) throw new Failure(`there is no file ${file}`);
    return withDatabase(context, async ({ db, walled, ports }) => {
      const merchant = await findMerchant(db, merchantId);
      if (!merchant) throw new Failure(`there is no merchant ${merchantId}`);
      const what = [
        merchantId,
        name,
        JSON.stringify({ ...reading, columns: [...reading.columns], states: [...reading.states] }),
      ];
      const bookmark = bookmarkOf(context.settings.dataDir, file!, what, ports.newId);
      const bar = progressBar(context, statSync(file!).size);
      if (bookmark.stored() === undefined || values["dry-run"]) {
        const taken = await takeRows(opened(file!, "checked", bar), kind, reading, undefined, {
          now: ports.now(),
          skewMs: context.settings.clockSkewMs,
        });
        const { header, rows, first, broken } = taken;
        if (broken !== null) throw new Failure(broken);
        if (taken.wrong.length > 0) return complain(context, taken, text(values, "errors"));
        if (rows === 0) {
          context.print("there are no rows in the file");
          return EXIT.ok;
        }
        context.print(`${rowsWords(rows)} ${rows === 1 ? "is" : "are"} right; the first is ${readAs(first[0]!)}`);
        // A decline code in a column of another name would be missed by nobody.
        const over = listedColumns(passedOver(header ?? []));
        if (over !== "") context.print(`columns that hold no field, and are passed over: ${over}`);
        tellWords(context, taken);
        const copies = copiesWords(taken);
        if (copies !== null) context.print(`${copies}; the newest copy of a record counts`);
        if (values["dry-run"]) return EXIT.ok;
        bookmark.set(0);
      }
      const skip = bookmark.stored()!;
      if (skip > 0) context.print(`goes on after ${rowsWords(skip)} stored already`);
      let rows = 0;
      let known = 0;
      const { wrong, broken } = await takeRows(opened(file!, "stored", bar), kind, reading, async (records) => {
        rows += records.length;
        if (rows <= skip) return;
        let told: Promise<unknown> = Promise.resolve();
        // The service may have read them ahead.
        const tell: OnWithdrawn = (...withdrawn) => {
          told = notify(db, withdrawnNotes(...withdrawn));
        };
        known += records.length - (await store(walled.of(merchantId), merchant, records, ports, tell)).stored;
        await told;
        bookmark.set(rows);
      });
      if (broken !== null) throw new Failure(broken);
      if (wrong.length > 0) throw new Failure(`the file was changed: line ${wrong[0]!.line} is not right any more`);
      const done = { kind: name, file: basename(file!), rows, known, whole: true };
      await auditImport(db, merchantId, COMMAND_LINE, done, ports);
      bookmark.remove();
      const there = `; of ${rowsWords(known)} the same or a newer copy was there, and stays`;
      context.print(`${rowsWords(rows - skip - known)} stored${known > 0 ? there : ""}`);
      return EXIT.ok;
    });
  },
};

/** Whose the rows of a file are. */
export function merchantOption(values: Values): string {
  const merchantId = text(values, "merchant");
  if (merchantId === undefined || !isUuid(merchantId)) throw new UsageError("--merchant takes the id of a merchant.");
  return merchantId;
}

/** What the rows of a file are. */
export function asOption<Name extends string>(values: Values, names: readonly Name[]): Name {
  const name = names.find((each) => each === text(values, "as"));
  if (!name) throw new UsageError(`--as takes one of ${names.join(", ")}.`);
  return name;
}

export const rowsWords = (n: number) => `${n.toLocaleString("en")} ${n === 1 ? "row" : "rows"}`;

/** "EUR 49.00 at 2026-01-31T12:00:00.000Z": whole numbers are amounts with and without --decimals, and a person sees here which they were taken for. */
const readAs = ({ amount, currency, createdAt }: Record<string, unknown>) =>
  `${moneyWords(amount as number, currency as string)} at ${(createdAt as Date).toISOString()}`;

/** The file, with a line that grows as it is read. */
function opened(path: string, doing: string, bar: Bar): HistoryFile {
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

const SHOWN = 10;

type Bar = (doing: string, bytes: number) => void;

function tellWords(context: Context, taken: Taken) {
  // A misspelled word would leave its rows what they are without it.
  if (taken.unmet.length > 0) context.print(`words of --states that no row has: ${taken.unmet.join(", ")}`);
  const absent = absentWords(taken);
  if (absent !== null) context.print(`read as empty: ${absent}`);
}

function complain(context: Context, taken: Taken, errors: string | undefined): number {
  const { wrong, place } = taken;
  const cell = (value: string) => (/[",\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
  const row = (line: number, column: string, says: string) => [String(line), column, says].map(cell).join(",");
  const heading = `${place},column,error`;
  if (errors !== undefined) {
    const all = faultsOf(wrong).map(({ line, column, says }) => row(line, column, says));
    writeFileSync(errors, `${[heading, ...all].join("\n")}\n`);
  } else {
    const alike = alikeFaultsOf(wrong).slice(0, SHOWN);
    const shown = alike.map((fault) => row(fault.lines[0]!, fault.column, alikeWords(fault, place)));
    for (const line of [heading, ...shown]) context.print(line);
  }
  tellWords(context, taken);
  const many = wrong.length >= WRONG_MAX ? `${rowsWords(WRONG_MAX)} or more` : rowsWords(wrong.length);
  context.print(
    `${many} ${wrong.length === 1 ? "is" : "are"} wrong${errors === undefined ? "" : `, see ${errors}`}; nothing was stored`,
  );
  return EXIT.failed;
}

const BAR_CHARS = 40;

function progressBar(lines: Lines, size: number): Bar {
  const show = growingLine(lines);
  return (doing, bytes) => {
    const share = Math.min(1, bytes / Math.max(1, size));
    show(`${"█".repeat(Math.floor(share * BAR_CHARS)).padEnd(BAR_CHARS, "░")} ${Math.floor(share * 100)}% ${doing}`);
  };
}
