import { type CsvFormat, type FieldNames, parseCsvFormat } from "../domain/csv-format.ts";
import { FileRefusedError } from "../domain/file-refused-error.ts";
import { type CommandOptions, type OptionValues, textOption, UsageError } from "./command.ts";

export const CSV_FORMAT_OPTIONS: CommandOptions = {
  map: { type: "string" },
  states: { type: "string" },
  dates: { type: "string" },
  decimals: { type: "string" },
};

/** For option columns of 27 characters. */
export const CSV_FORMAT_USAGE = `
  --map FIELD=COLUMN,…     CSV columns whose names differ from the fields; Invoice ID, invoice_id and invoiceId are the same name
  --states WORD=STATE,…    meaning of other words for a state, in any spelling: Authorised=PAID,Refused=FAILED
  --dates ymd|dmy|mdy      order in dates such as 25.11.2026 or 11/25/2026; times without an offset, such as 25-Nov-2026 08:30, are UTC
  --decimals point|comma   amounts are major units: 1,234.50 (or 1,23,456.50), or 1.234,50; without it they are whole minor units: 123450`;

export function parseCsvFormatOptions(values: OptionValues, fields: FieldNames, states: readonly string[]): CsvFormat {
  const [map, stateMap, dates, decimals] = ["map", "states", "dates", "decimals"].map((name) =>
    textOption(values, name),
  );
  try {
    return parseCsvFormat({ map, states: stateMap, dates, decimals }, fields, states);
  } catch (error) {
    if (error instanceof FileRefusedError) throw new UsageError(`${error.message}.`);
    throw error;
  }
}
