import { DATE_ORDERS } from "./date-format.ts";
import { FileRefusedError } from "./file-refused-error.ts";
import { DECIMAL_MARKS, normalizeStateWord, type ValueFormat } from "./value-format.ts";

/** How a CSV is read, where somebody has to say it. */
export interface CsvFormat extends ValueFormat {
  /** Which column holds which field; a field that is not named is held by the column of its own name, in any spelling. */
  columns: ReadonlyMap<string, string>;
  /** Which state a word means, by the word as `normalizeStateWord` writes it; others mean what they mean everywhere. */
  states: ReadonlyMap<string, string>;
}

/** Where nothing has to be said. */
export const DEFAULT_CSV_FORMAT: CsvFormat = { columns: new Map(), states: new Map(), dates: null, decimals: null };

/** What a first line says: each column, in its order, and the field that it holds, if it holds one. */
export type HeaderMapping = readonly (readonly [column: string, field: string | undefined])[];

/** The words for states that somebody said the meaning of, for whoever looks for them in a file to take out those that it has. */
export const stateWordsOf = ({ states }: CsvFormat): Set<string> => new Set(states.keys());

/** The fields of a record, as a Set, or a Map by their names. */
export type FieldNames = Pick<ReadonlyMap<string, unknown>, "has" | "keys">;

/** What somebody says of a file. */
export interface CsvFormatInput {
  /** `FIELD=COLUMN,…` */
  map?: string | undefined;
  /** `WORD=STATE,…` */
  states?: string | undefined;
  dates?: string | undefined;
  decimals?: string | undefined;
}

/** @throws FileRefused when it is something else, or names a field that is none of `fields`, or a state that is none of `known` */
export const parseCsvFormat = (
  { map, states, dates, decimals }: CsvFormatInput,
  fields: FieldNames,
  known: readonly string[],
): CsvFormat => ({
  columns: parseColumnMap(map ?? "", fields),
  states: parseStateMap(states ?? "", known),
  dates: parseChoice("--dates", dates, DATE_ORDERS),
  decimals: parseChoice("--decimals", decimals, DECIMAL_MARKS),
});

function parseChoice<Word extends string>(
  option: string,
  said: string | undefined,
  words: readonly Word[],
): Word | null {
  if (said === undefined) return null;
  const word = words.find((each) => each === said);
  if (!word) throw new FileRefusedError(`${option} takes one of ${words.join(", ")}`);
  return word;
}

function parseColumnMap(map: string, fields: FieldNames): CsvFormat["columns"] {
  const columns = new Map<string, string>();
  const known = `Fields: ${[...fields.keys()].join(" ")}`;
  for (const [field, column] of parsePairs("--map takes FIELD=COLUMN", map, known)) {
    if (!fields.has(field)) throw new FileRefusedError(`--map names ${field}, which is no field. ${known}`);
    if (columns.has(field)) throw new FileRefusedError(`--map says twice which column holds ${field}`);
    if ([...columns.values()].includes(column))
      throw new FileRefusedError(`--map says of the column ${column} that it holds two fields`);
    columns.set(field, column);
  }
  return columns;
}

function parseStateMap(said: string, known: readonly string[]): CsvFormat["states"] {
  const states = new Map<string, string>();
  const all = `States: ${known.join(" ")}`;
  for (const [written, meant] of parsePairs("--states takes WORD=STATE", said, all)) {
    const word = normalizeStateWord(written);
    const state = known.find((each) => each === normalizeStateWord(meant));
    if (!state) throw new FileRefusedError(`--states says that ${written} means ${meant}, which is no state. ${all}`);
    if (states.has(word)) throw new FileRefusedError(`--states says twice what ${written} means`);
    states.set(word, state);
  }
  return states;
}

/** @param takes  what it is to look like, and `known` what may stand in it, for messages */
function* parsePairs(takes: string, said: string, known: string): Generator<[left: string, right: string]> {
  for (const pair of said === "" ? [] : said.split(",")) {
    const at = pair.indexOf("=");
    const [left, right] = [pair.slice(0, Math.max(0, at)).trim(), pair.slice(at + 1)]; // people write a space behind a comma
    if (left === "" || right === "")
      throw new FileRefusedError(`${takes} with commas between them, not "${pair}". ${known}`);
    yield [left, right];
  }
}

/**
 * JSON says its names, moments and whole numbers as the API takes them: who thinks otherwise of a file would get other amounts, and not the columns that were named.
 *
 * @throws FileRefused when anything was said
 */
export function refuseCsvFormatForJson({ columns, states, dates, decimals }: CsvFormat) {
  if (columns.size > 0 || states.size > 0 || dates !== null || decimals !== null)
    throw new FileRefusedError("--map, --states, --dates and --decimals are for CSV, and this file is JSON");
}

/** Whether a column of this name is read. */
export function createColumnFilter(fields: FieldNames, { columns }: CsvFormat): (name: string) => boolean {
  const names = new Set([...fields.keys()].map(normalizeName));
  const mapped = new Set(columns.values());
  return (name) => mapped.has(name) || names.has(normalizeName(name));
}

/**
 * The fields that the columns of a first line hold.
 *
 * @throws FileRefused when a column is not there, or two hold one field
 */
export function mapHeader(names: readonly string[], fields: FieldNames, { columns }: CsvFormat): HeaderMapping {
  const written = new Set(names);
  for (const column of columns.values())
    if (!written.has(column))
      throw new FileRefusedError(`the file has no column ${column}; it has: ${formatColumnList(names)}`);
  const mapped = new Map([...columns].map(([field, column]) => [column, field]));
  const own = new Map([...fields.keys()].map((field) => [normalizeName(field), field]));
  const held = new Map<string, string>();
  return names.map((column) => {
    const name = own.get(normalizeName(column));
    const isOwn = name !== undefined && !columns.has(name) && (column === name || !written.has(name));
    const field = mapped.get(column) ?? (isOwn ? name : undefined);
    if (field === undefined) return [column, undefined];
    const other = held.get(field);
    if (other !== undefined)
      throw new FileRefusedError(
        other === column
          ? `the file has two columns ${column}, and ${field} is held by one: rename the other`
          : `the file has two columns of ${field}, "${other}" and "${column}": --map ${field}=COLUMN says which one holds it`,
      );
    held.set(field, column);
    return [column, field];
  });
}

const LISTED_COLUMNS_MAX = 50;

/** Columns by name: those that have none, as behind a last semicolon, are not told of. */
export function formatColumnList(columns: readonly string[]): string {
  const named = columns.filter((column) => column !== "");
  const more = named.length - LISTED_COLUMNS_MAX;
  return `${named.slice(0, LISTED_COLUMNS_MAX).join(", ")}${more > 0 ? `, and ${more} more` : ""}`;
}

/** `Invoice ID`, `invoice_id` and `invoiceId` are one name. */
export const normalizeName = (name: string) => name.toLowerCase().replace(/[^a-z0-9]/g, "");
