import { existsSync, statSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import type { RecordKind } from "../api/ingest/batch.ts";
import { INVOICES } from "../api/ingest/invoice.ts";
import { SUBSCRIPTIONS } from "../api/ingest/subscription.ts";
import { TRANSACTIONS } from "../api/ingest/transaction.ts";
import type { Merchant } from "../domain/merchant.ts";
import { COMMAND_LINE } from "../domain/person.ts";
import type { Ports } from "../domain/ports.ts";
import { importInvoices, ingestSubscriptions, ingestTransactions } from "../recovery/ingest.ts";
import { audit } from "../store/audit-log.ts";
import type { Database } from "../store/database.ts";
import { findMerchant } from "../store/merchants.ts";
import { type Command, type Context, EXIT, Failure, text, UsageError, withDatabase } from "./command.ts";
import { bookmarkOf } from "./history/bookmark.ts";
import { batchesOf, readRows, type Wrong } from "./history/check.ts";
import { type Columns, rowsOf } from "./history/rows.ts";
import { isUuid } from "./merchant.ts";

/** A kind of records, and how a batch is stored, all of it or none; it returns the ids that were known in this copy or a newer one. */
interface Kind<Record> {
  kind: RecordKind<Record>;
  store(db: Database, merchant: Merchant, records: Record[], ports: Ports): Promise<ReadonlySet<string>>;
}

const kindOf = <Record>(kind: RecordKind<Record>, store: Kind<Record>["store"]) => ({ kind, store }) as Kind<unknown>;
const KINDS: Record<string, Kind<unknown>> = {
  subscriptions: kindOf(SUBSCRIPTIONS, ingestSubscriptions),
  invoices: kindOf(INVOICES, importInvoices),
  transactions: kindOf(TRANSACTIONS, ingestTransactions),
};

/** `dunlin import`: a merchant's history from a file. It teaches, and opens no case. */
export const importHistory: Command = {
  name: "import",
  usage: `FILE --merchant M --as subscriptions|invoices|transactions [--map FIELD=COLUMN,…] [--dry-run] [--errors FILE]
  FILE          CSV with a first line of column names, or JSONL (.jsonl, .ndjson) with a record of the API in each line
  --map         which column holds a field, where they have different names
  --dry-run     checks every row and stores nothing
  --errors      where the wrong rows go, as CSV: line, column, error`,
  summary: "Import subscriptions, invoices or transactions from a file; no case is opened by them",
  options: {
    merchant: { type: "string" },
    as: { type: "string" },
    map: { type: "string" },
    "dry-run": { type: "boolean" },
    errors: { type: "string" },
  },
  positionals: ["FILE"],
  examples: [
    "dunlin import invoices.csv --merchant 0198… --as invoices --map id=number,amount=total_cents --dry-run",
    "dunlin import attempts.jsonl --merchant 0198… --as transactions",
  ],
  async run(context, values, [file]) {
    const merchantId = text(values, "merchant");
    if (merchantId === undefined || !isUuid(merchantId)) throw new UsageError("--merchant takes the id of a merchant.");
    const name = text(values, "as") ?? "";
    const kind = Object.hasOwn(KINDS, name) ? KINDS[name]! : undefined;
    if (!kind) throw new UsageError(`--as takes one of ${Object.keys(KINDS).join(", ")}.`);
    const columns = columnsOf(text(values, "map"), kind.kind);
    if (!existsSync(file!)) throw new Failure(`there is no file ${file}`);
    return withDatabase(context, async ({ db, walled, ports }) => {
      const merchant = await findMerchant(db, merchantId);
      if (!merchant) throw new Failure(`there is no merchant ${merchantId}`);
      const what = [merchantId, name, JSON.stringify([...columns])];
      const bookmark = bookmarkOf(context.settings.dataDir, file!, what);
      const bar = progressBar(context, statSync(file!).size);
      if (bookmark.stored() === undefined || values["dry-run"]) {
        const { rows, wrong } = await checkAll(kind, file!, columns, bar);
        if (wrong.length > 0) return complain(context, wrong, columns, text(values, "errors"));
        context.print(`${rows} rows are right`);
        if (values["dry-run"]) return EXIT.ok;
        bookmark.set(0);
      }
      const skip = bookmark.stored()!;
      if (skip > 0) context.print(`goes on after ${skip} rows that are stored already`);
      let rows = 0;
      let known = 0;
      for await (const batch of batchesOf(rowsOf(file!, kind.kind, columns))) {
        rows += batch.length;
        if (rows <= skip) continue;
        const { records, wrong } = readRows(kind.kind, batch);
        if (wrong.length > 0) throw new Failure(`the file was changed: line ${wrong[0]!.line} is not right any more`);
        known += (await kind.store(walled.of(merchantId), merchant, records, ports)).size;
        bookmark.set(rows);
        bar("stored", batch.at(-1)!.bytes);
      }
      const details = { rows, "known before": known, file: basename(file!) };
      await audit(db, merchantId, COMMAND_LINE, { deed: "history.imported", object: name, details }, ports);
      bookmark.remove();
      context.print(`${rows - skip} rows stored; of ${known} the same or a newer copy was there and stays`);
      return EXIT.ok;
    });
  },
};

function columnsOf(map: string | undefined, { fields }: RecordKind<unknown>): Columns {
  const columns = new Map<string, string>();
  for (const pair of map?.split(",") ?? []) {
    const [field = "", column = ""] = [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)];
    if (!pair.includes("=") || !fields.has(field) || column === "")
      throw new UsageError(`--map takes FIELD=COLUMN, not "${pair}". Fields: ${[...fields.keys()].join(" ")}`);
    columns.set(field, column);
  }
  return columns;
}

/** As many as a person reads; the rest is counted. */
const WRONG_MAX = 10_000;
const SHOWN = 10;

type Bar = (doing: string, bytes: number) => void;

async function checkAll({ kind }: Kind<unknown>, file: string, columns: Columns, bar: Bar) {
  let rows = 0;
  const wrong: Wrong[] = [];
  for await (const batch of batchesOf(rowsOf(file, kind, columns))) {
    rows += batch.length;
    if (wrong.length < WRONG_MAX) wrong.push(...readRows(kind, batch).wrong);
    bar("checked", batch.at(-1)!.bytes);
  }
  return { rows, wrong };
}

function complain(context: Context, wrong: readonly Wrong[], columns: Columns, errors: string | undefined): number {
  const column = ({ field }: Wrong) => columns.get(field) ?? field;
  const cell = (value: string) => (/[",\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
  const lines = wrong.map((each) => [String(each.line), column(each), each.says].map(cell).join(","));
  const csv = ["line,column,error", ...lines];
  if (errors !== undefined) writeFileSync(errors, `${csv.join("\n")}\n`);
  for (const line of errors === undefined ? csv.slice(0, SHOWN + 1) : []) context.print(line);
  const many = wrong.length >= WRONG_MAX ? `${WRONG_MAX} rows and more` : `${wrong.length} of the rows`;
  context.print(`${many} are wrong${errors === undefined ? "" : `, see ${errors}`}; nothing was stored`);
  return EXIT.failed;
}

const BAR_CHARS = 40;
/** Up one line, which is cleared. */
const AGAIN = "\u001b[1A\u001b[2K";

/** A line that grows, on a terminal; elsewhere nothing. */
function progressBar({ isTerminal, print }: Context, size: number): Bar {
  let shown = "";
  return (doing, bytes) => {
    const share = Math.min(1, bytes / Math.max(1, size));
    const line = `${"█".repeat(Math.floor(share * BAR_CHARS)).padEnd(BAR_CHARS, "░")} ${Math.floor(share * 100)}% ${doing}`;
    if (!isTerminal || line === shown) return;
    print(`${shown === "" ? "" : AGAIN}${line}`);
    shown = line;
  };
}
