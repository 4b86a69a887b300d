import { type CsvFormat, type FieldNames, parseCsvFormat } from "../domain/csv-format.ts";
import { FileRefusedError } from "../domain/file-refused-error.ts";
import { type CommandOptions, type OptionValues, textOption, UsageError } from "./command.ts";

/** Options that say how a CSV is read, of `import` and `backtest`. */
export const CSV_FORMAT_OPTIONS: CommandOptions = {
  map: { type: "string" },
  states: { type: "string" },
  dates: { type: "string" },
  decimals: { type: "string" },
};

/** For a usage whose options are as wide as these. */
export const CSV_FORMAT_USAGE = `
  --map FIELD=COLUMN,…     which column of a CSV holds a field, where they have different names; Invoice ID, invoice_id and invoiceId are one
  --states WORD=STATE,…    what other words for a state mean, in any spelling: Authorised=PAID,Refused=FAILED
  --dates ymd|dmy|mdy      how dates such as 25.11.2026 or 11/25/2026 are written; times without an offset, as 25-Nov-2026 08:30, are in UTC
  --decimals point|comma   amounts are major units, 1,234.50 (or 1,23,456.50) or 1.234,50; without it they are whole minor units, 123450`;

export function parseCsvFormatOptions(values: OptionValues, fields: FieldNames, known: readonly string[]): CsvFormat {
  const [map, states, dates, decimals] = ["map", "states", "dates", "decimals"].map((name) => textOption(values, name));
  try {
    return parseCsvFormat({ map, states, dates, decimals }, fields, known);
  } catch (error) {
    if (error instanceof FileRefusedError) throw new UsageError(`${error.message}.`);
    throw error;
  }
}
