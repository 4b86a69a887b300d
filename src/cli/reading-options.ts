import { FileRefused } from "../domain/file-refused.ts";
import { type FieldNames, type Reading, readingOf } from "../domain/reading.ts";
import { type Options, text, UsageError, type Values } from "./command.ts";

/** Options that say how a CSV is read, of `import` and `backtest`. */
export const READING_OPTIONS: Options = {
  map: { type: "string" },
  states: { type: "string" },
  dates: { type: "string" },
  decimals: { type: "string" },
};

/** For a usage whose options are as wide as these. */
export const READING_USAGE = `
  --map FIELD=COLUMN,…     which column of a CSV holds a field, where they have different names; Invoice ID, invoice_id and invoiceId are one
  --states WORD=STATE,…    what other words for a state mean, in any spelling: Authorised=PAID,Refused=FAILED
  --dates ymd|dmy|mdy      how dates such as 25.11.2026 or 11/25/2026 are written; times without an offset, as 25-Nov-2026 08:30, are in UTC
  --decimals point|comma   amounts are major units, 1,234.50 (or 1,23,456.50) or 1.234,50; without it they are whole minor units, 123450`;

export function readingOption(values: Values, fields: FieldNames, known: readonly string[]): Reading {
  const [map, states, dates, decimals] = ["map", "states", "dates", "decimals"].map((name) => text(values, name));
  try {
    return readingOf({ map, states, dates, decimals }, fields, known);
  } catch (error) {
    if (error instanceof FileRefused) throw new UsageError(`${error.message}.`);
    throw error;
  }
}
