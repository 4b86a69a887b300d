import { FileRefused } from "./file-refused.ts";
import { DECIMALS, stateWord, type Written } from "./written.ts";
import { DATES } from "./written-moment.ts";

/** How a CSV is read, where somebody has to say it. */
export interface Reading extends Written {
  /** Which column holds which field; a field that is not named is held by the column of its own name, in any spelling. */
  columns: ReadonlyMap<string, string>;
  /** Which state a word means, by the word as `stateWord` writes it; others mean what they mean everywhere. */
  states: ReadonlyMap<string, string>;
}

/** Where nothing has to be said. */
export const PLAIN: Reading = { columns: new Map(), states: new Map(), dates: null, decimals: null };

/** What a first line says: each column, in its order, and the field that it holds, if it holds one. */
export type Header = readonly (readonly [column: string, field: string | undefined])[];

/** The words for states that somebody said the meaning of, for whoever looks for them in a file to take out those that it has. */
export const wordsToMeet = ({ states }: Reading): Set<string> => new Set(states.keys());

/** The fields of a record, as a Set, or a Map by their names. */
export type FieldNames = Pick<ReadonlyMap<string, unknown>, "has" | "keys">;

/** What somebody says of a file. */
export interface Said {
  /** `FIELD=COLUMN,…` */
  map?: string | undefined;
  /** `WORD=STATE,…` */
  states?: string | undefined;
  dates?: string | undefined;
  decimals?: string | undefined;
}

/** @throws FileRefused when it is something else, or names a field that is none of `fields`, or a state that is none of `known` */
export const readingOf = (
  { map, states, dates, decimals }: Said,
  fields: FieldNames,
  known: readonly string[],
): Reading => ({
  columns: columnsOf(map ?? "", fields),
  states: statesOf(states ?? "", known),
  dates: wordOf("--dates", dates, DATES),
  decimals: wordOf("--decimals", decimals, DECIMALS),
});

function wordOf<Word extends string>(option: string, said: string | undefined, words: readonly Word[]): Word | null {
  if (said === undefined) return null;
  const word = words.find((each) => each === said);
  if (!word) throw new FileRefused(`${option} takes one of ${words.join(", ")}`);
  return word;
}

function columnsOf(map: string, fields: FieldNames): Reading["columns"] {
  const columns = new Map<string, string>();
  const known = `Fields: ${[...fields.keys()].join(" ")}`;
  for (const [field, column] of pairsOf("--map takes FIELD=COLUMN", map, known)) {
    if (!fields.has(field)) throw new FileRefused(`--map names ${field}, which is no field. ${known}`);
    if (columns.has(field)) throw new FileRefused(`--map says twice which column holds ${field}`);
    if ([...columns.values()].includes(column))
      throw new FileRefused(`--map says of the column ${column} that it holds two fields`);
    columns.set(field, column);
  }
  return columns;
}

function statesOf(said: string, known: readonly string[]): Reading["states"] {
  const states = new Map<string, string>();
  const all = `States: ${known.join(" ")}`;
  for (const [written, meant] of pairsOf("--states takes WORD=STATE", said, all)) {
    const word = stateWord(written);
    const state = known.find((each) => each === stateWord(meant));
    if (!state) throw new FileRefused(`--states says that ${written} means ${meant}, which is no state. ${all}`);
    if (states.has(word)) throw new FileRefused(`--states says twice what ${written} means`);
    states.set(word, state);
  }
  return states;
}

/** @param takes  what it is to look like, and `known` what may stand in it, for messages */
function* pairsOf(takes: string, said: string, known: string): Generator<[left: string, right: string]> {
  for (const pair of said === "" ? [] : said.split(",")) {
    const at = pair.indexOf("=");
    const [left, right] = [pair.slice(0, Math.max(0, at)).trim(), pair.slice(at + 1)]; // people write a space behind a comma
    if (left === "" || right === "")
      throw new FileRefused(`${takes} with commas between them, not "${pair}". ${known}`);
    yield [left, right];
  }
}

/**
 * JSON says its names, moments and whole numbers as the API takes them: who thinks otherwise of a file would get other amounts, and not the columns that were named.
 *
 * @throws FileRefused when anything was said
 */
export function refuseForJson({ columns, states, dates, decimals }: Reading) {
  if (columns.size > 0 || states.size > 0 || dates !== null || decimals !== null)
    throw new FileRefused("--map, --states, --dates and --decimals are for CSV, and this file is JSON");
}

/** Whether a column of this name is read. */
export function isRead(fields: FieldNames, { columns }: Reading): (name: string) => boolean {
  const names = new Set([...fields.keys()].map(spelled));
  const mapped = new Set(columns.values());
  return (name) => mapped.has(name) || names.has(spelled(name));
}

/**
 * The fields that the columns of a first line hold.
 *
 * @throws FileRefused when a column is not there, or two hold one field
 */
export function headerOf(names: readonly string[], fields: FieldNames, { columns }: Reading): Header {
  const written = new Set(names);
  for (const column of columns.values())
    if (!written.has(column))
      throw new FileRefused(`the file has no column ${column}; it has: ${listedColumns(names)}`);
  const mapped = new Map([...columns].map(([field, column]) => [column, field]));
  const own = new Map([...fields.keys()].map((field) => [spelled(field), field]));
  const held = new Map<string, string>();
  return names.map((column) => {
    const name = own.get(spelled(column));
    const isOwn = name !== undefined && !columns.has(name) && (column === name || !written.has(name));
    const field = mapped.get(column) ?? (isOwn ? name : undefined);
    if (field === undefined) return [column, undefined];
    const other = held.get(field);
    if (other !== undefined)
      throw new FileRefused(
        other === column
          ? `the file has two columns ${column}, and ${field} is held by one: rename the other`
          : `the file has two columns of ${field}, "${other}" and "${column}": --map ${field}=COLUMN says which one holds it`,
      );
    held.set(field, column);
    return [column, field];
  });
}

const COLUMNS_SHOWN = 50;

/** Columns by name: those that have none, as behind a last semicolon, are not told of. */
export function listedColumns(columns: readonly string[]): string {
  const named = columns.filter((column) => column !== "");
  const more = named.length - COLUMNS_SHOWN;
  return `${named.slice(0, COLUMNS_SHOWN).join(", ")}${more > 0 ? `, and ${more} more` : ""}`;
}

/** `Invoice ID`, `invoice_id` and `invoiceId` are one name. */
export const spelled = (name: string) => name.toLowerCase().replace(/[^a-z0-9]/g, "");
