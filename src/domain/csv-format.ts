import { DATE_ORDERS } from "./date-format.ts";
import { FileRefusedError } from "./file-refused-error.ts";
import { DECIMAL_MARKS, normalizeStateWord, type ValueFormat } from "./value-format.ts";

export interface CsvFormat extends ValueFormat {
  /** By field. Other fields are in the column with their name, in any spelling. */
  columns: ReadonlyMap<string, string>;
  /** By `normalizeStateWord`. Other words keep their usual meaning. */
  states: ReadonlyMap<string, string>;
}

export const DEFAULT_CSV_FORMAT: CsvFormat = { columns: new Map(), states: new Map(), dates: null, decimals: null };

export type HeaderMapping = readonly (readonly [column: string, field: string | undefined])[];

/** A reader removes those that occur. */
export const stateWordsOf = ({ states }: CsvFormat): Set<string> => new Set(states.keys());

export type FieldNames = Pick<ReadonlyMap<string, unknown>, "has" | "keys">;

export interface CsvFormatInput {
  /** `FIELD=COLUMN,…` */
  map?: string | undefined;
  /** `WORD=STATE,…` */
  states?: string | undefined;
  dates?: string | undefined;
  decimals?: string | undefined;
}

/** @throws FileRefusedError */
export const parseCsvFormat = (
  { map, states, dates, decimals }: CsvFormatInput,
  fields: FieldNames,
  knownStates: readonly string[],
): CsvFormat => ({
  columns: parseColumnMap(map ?? "", fields),
  states: parseStateMap(states ?? "", knownStates),
  dates: parseChoice("--dates", dates, DATE_ORDERS),
  decimals: parseChoice("--decimals", decimals, DECIMAL_MARKS),
});

function parseChoice<Word extends string>(
  option: string,
  value: string | undefined,
  words: readonly Word[],
): Word | null {
  if (value === undefined) return null;
  const word = words.find((each) => each === value);
  if (!word) throw new FileRefusedError(`${option} takes one of ${words.join(", ")}`);
  return word;
}

function parseColumnMap(map: string, fields: FieldNames): CsvFormat["columns"] {
  const columns = new Map<string, string>();
  const fieldList = `Fields: ${[...fields.keys()].join(" ")}`;
  for (const [field, column] of parsePairs("--map takes FIELD=COLUMN", map, fieldList)) {
    if (!fields.has(field)) throw new FileRefusedError(`--map names ${field}, which is not a field. ${fieldList}`);
    if (columns.has(field)) throw new FileRefusedError(`--map names the field ${field} twice`);
    if ([...columns.values()].includes(column))
      throw new FileRefusedError(`--map uses the column ${column} for two fields`);
    columns.set(field, column);
  }
  return columns;
}

function parseStateMap(map: string, knownStates: readonly string[]): CsvFormat["states"] {
  const states = new Map<string, string>();
  const stateList = `States: ${knownStates.join(" ")}`;
  for (const [written, meaning] of parsePairs("--states takes WORD=STATE", map, stateList)) {
    const word = normalizeStateWord(written);
    const state = knownStates.find((each) => each === normalizeStateWord(meaning));
    if (!state)
      throw new FileRefusedError(`--states maps ${written} to ${meaning}, which is not a state. ${stateList}`);
    if (states.has(word)) throw new FileRefusedError(`--states maps ${written} twice`);
    states.set(word, state);
  }
  return states;
}

/** @param takes  for errors, like `known` */
function* parsePairs(takes: string, pairs: string, known: string): Generator<[left: string, right: string]> {
  for (const pair of pairs === "" ? [] : pairs.split(",")) {
    const at = pair.indexOf("=");
    const [left, right] = [pair.slice(0, Math.max(0, at)).trim(), pair.slice(at + 1)]; // people write ", "
    if (left === "" || right === "")
      throw new FileRefusedError(`${takes}, separated by commas, not "${pair}". ${known}`);
    yield [left, right];
  }
}

/**
 * Ignoring them would silently store other amounts or skip mapped columns.
 *
 * @throws FileRefusedError
 */
export function refuseCsvFormatForJson({ columns, states, dates, decimals }: CsvFormat) {
  if (columns.size > 0 || states.size > 0 || dates !== null || decimals !== null)
    throw new FileRefusedError("--map, --states, --dates and --decimals are for CSV, and this file is JSON");
}

export function createColumnFilter(fields: FieldNames, { columns }: CsvFormat): (name: string) => boolean {
  const names = new Set([...fields.keys()].map(normalizeName));
  const mapped = new Set(columns.values());
  return (name) => mapped.has(name) || names.has(normalizeName(name));
}

/** @throws FileRefusedError if a mapped column is missing, or two columns have the same field */
export function mapHeader(names: readonly string[], fields: FieldNames, { columns }: CsvFormat): HeaderMapping {
  const present = new Set(names);
  for (const column of columns.values())
    if (!present.has(column))
      throw new FileRefusedError(`the file has no column ${column}; it has: ${formatColumnList(names)}`);
  const mapped = new Map([...columns].map(([field, column]) => [column, field]));
  const fieldByName = new Map([...fields.keys()].map((field) => [normalizeName(field), field]));
  const columnByField = new Map<string, string>();
  return names.map((column) => {
    const name = fieldByName.get(normalizeName(column));
    const hasFieldName = name !== undefined && !columns.has(name) && (column === name || !present.has(name));
    const field = mapped.get(column) ?? (hasFieldName ? name : undefined);
    if (field === undefined) return [column, undefined];
    const other = columnByField.get(field);
    if (other !== undefined)
      throw new FileRefusedError(
        other === column
          ? `the file has two columns ${column}, but the field ${field} needs one: rename the other`
          : `the file has two columns for ${field}, "${other}" and "${column}": choose one with --map ${field}=COLUMN`,
      );
    columnByField.set(field, column);
    return [column, field];
  });
}

const LISTED_COLUMNS_MAX = 50;

/** Omits unnamed columns, such as after a final semicolon. */
export function formatColumnList(columns: readonly string[]): string {
  const named = columns.filter((column) => column !== "");
  const more = named.length - LISTED_COLUMNS_MAX;
  return `${named.slice(0, LISTED_COLUMNS_MAX).join(", ")}${more > 0 ? `, and ${more} more` : ""}`;
}

/** `Invoice ID`, `invoice_id` and `invoiceId` are equal. */
export const normalizeName = (name: string) => name.toLowerCase().replace(/[^a-z0-9]/g, "");
