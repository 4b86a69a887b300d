import type { CsvError } from "csv-parse";
import { FileRefusedError } from "./file-refused-error.ts";

/** Separators of columns. Programs write semicolons if their country's decimals have commas, and tabs into pasted text. */
const DELIMITERS = [",", ";", "\t"];

/** A first line by which Excel is told what stands between columns: `sep=;`. Who saved the file again may have put it in quotes, and signs behind it. */
const SEP_DIRECTIVE = /^\s*"?sep=([^\w\s"]|\t)"?[,;\t]*(?=[\r\n])/i;

/**
 * What stands between the columns of a text, and the text without a line that says so: of that nothing but its end is left, so that all lines keep their numbers.
 *
 * @param begin  of the text, the first line that is not empty at least
 * @param isName  whether a column of that name would be read
 */
export function detectDelimiter(
  begin: string,
  isName: (name: string) => boolean,
): { delimiter: string; begin: string } {
  const told = SEP_DIRECTIVE.exec(begin);
  return told
    ? { delimiter: told[1]!, begin: begin.slice(told[0].length) }
    : { delimiter: guessDelimiter(begin, isName), begin };
}

/**
 * What stands between the columns of a text: the sign that parts its heading into the most known names, of equal ones into the most names. A sign within a name is then none
 * between names.
 *
 * @param isName  whether a column of that name would be read
 */
export function guessDelimiter(text: string, isName: (name: string) => boolean): string {
  const heading = firstLineOf(text) ?? text.trimStart();
  const [best] = DELIMITERS.map((sign) => {
    const names = columnNamesOf(heading, sign);
    return { sign, known: names.filter(isName).length, all: names.length };
  }).sort((a, b) => b.known - a.known || b.all - a.all);
  return best!.sign;
}

/** The first line of a text that is not empty, with the breaks that are quoted in it; undefined: it has no end. */
export function firstLineOf(text: string): string | undefined {
  const begun = text.trimStart();
  let isQuoted = false;
  for (let at = 0; at < begun.length; at++) {
    const sign = begun[at]!;
    if (sign === '"') isQuoted = !isQuoted;
    else if (!isQuoted && (sign === "\n" || sign === "\r")) return begun.slice(0, at);
  }
  return undefined;
}

const columnNamesOf = (heading: string, separator: string) =>
  heading
    .split('"')
    .map((part, k) => (k % 2 === 0 ? part.replaceAll(separator, "\n\r") : part))
    .join("")
    .split("\n\r", COLUMNS_MAX)
    .map((name) => name.trim());

/**
 * Programs write `="00123"` so that a spreadsheet keeps the zeros; what it means is `"00123"`. Elsewhere a quote behind a `=` is text within quotes.
 *
 * @returns what such a file says, piece by piece: a piece may end between the two signs, but for the last
 */
export function createFormulaReader(): (piece: string, isLast?: boolean) => string {
  let isQuoted = false;
  let kept = "";
  return (piece, isLast = false) => {
    const text = kept + piece;
    kept = text.endsWith("=") && !isLast ? "=" : "";
    return text.slice(0, text.length - kept.length).replace(/="|"/g, (signs, at) => {
      const isFormula = signs === '="' && !isQuoted && text[at - 1] !== '"';
      isQuoted = !isQuoted;
      return isFormula ? '"' : signs;
    });
  };
}

/** Returns the text of a cell that a spreadsheet wrote as a formula with a text alone: `="00123"` is 00123. */
export const unwrapFormula = (cell: string): string => {
  const text = /^="(.*)"$/s.exec(cell)?.[1];
  return text === undefined ? cell : text.replaceAll('""', '"');
};

/** Far more than any export has. A row of nothing but separators would otherwise grow until memory ends. */
export const COLUMNS_MAX = 1_000;
/** As many rows as a sheet of a spreadsheet has: a program that saved the empty part of one saved no more. */
const EMPTY_ROWS_MAX = 1_048_576;

/** More than `COLUMNS_MAX` quoted empty cells. Any number of blanks is allowed. */
const BUFFERED_CHARS_MAX = 4 * COLUMNS_MAX;

const [TAB, LINE_FEED, CARRIAGE_RETURN, SPACE, QUOTE] = [9, 10, 13, 32, 34];

/**
 * Takes empty rows out of a CSV, since their cells cost the parser as much as any others. All line breaks stay. A row ends where the parser ends it: at the sign that ended the first one.
 *
 * @returns the text for the parser, piece by piece. It throws FileRefused, with the line, at a row of more than `COLUMNS_MAX` columns, and behind `EMPTY_ROWS_MAX` empty rows in a row
 */
export function createEmptyRowFilter(delimiter: string): (piece: string, isLast?: boolean) => string {
  const separator = delimiter.charCodeAt(0);
  let kept = ""; // a carriage return whose line feed may come
  let rowEnd = "";
  let isQuoted = false;
  let isEmpty = true;
  let held = ""; // the text of a row that is empty so far
  let quotes = 0; // in its last cell
  let columns = 1;
  let emptyRows = 0;
  let line = 1;
  let begunOn = 1;

  function endRow() {
    emptyRows = isEmpty ? emptyRows + 1 : 0;
    if (emptyRows > EMPTY_ROWS_MAX)
      throw new FileRefusedError(
        `line ${begunOn}: more than ${EMPTY_ROWS_MAX.toLocaleString("en")} empty rows follow each other; delete the empty rows of the file`,
      );
    isEmpty = true;
    begunOn = line;
    held = "";
    [columns, quotes] = [1, 0];
  }

  return (piece, isLast = false) => {
    const text = kept + piece;
    kept = text.endsWith("\r") && !isLast ? "\r" : "";
    const end = text.length - kept.length;
    let out = "";
    let from = 0; // start of the text that is not written yet
    for (let at = 0; at < end; at++) {
      const sign = text.charCodeAt(at);
      const breaks = lineBreakAt(text, at, sign);
      const endsRow = breaks !== "" && !isQuoted && (rowEnd === "" || breaks.includes(rowEnd));
      if (isEmpty && !endsRow && !isNothing(sign)) {
        isEmpty = false;
        out += held;
        from = at;
      }
      if (isEmpty && !endsRow) held += text[at];
      if (sign === QUOTE) {
        isQuoted = !isQuoted;
        quotes++;
      } else if (breaks !== "") {
        at += breaks.length - 1;
        line++;
        if (!endsRow) continue;
        out += isEmpty ? breaks : text.slice(from, at + 1);
        rowEnd ||= breaks;
        endRow();
      } else if (sign === separator && !isQuoted) {
        if (++columns > COLUMNS_MAX)
          throw new FileRefusedError(
            `line ${begunOn}: it has more than ${COLUMNS_MAX.toLocaleString("en")} columns; check what separates columns and lines in the file`,
          );
        quotes = 0;
      }
    }
    if (!isEmpty) return out + text.slice(from, end);
    return isLast ? out + held : out;
  };

  /** Whether a sign within a row leaves it empty. A quoted empty text is two quotes, and nothing beside them. */
  function isNothing(sign: number): boolean {
    if (sign === QUOTE) return quotes < 2;
    if (isQuoted) return false;
    if (sign !== separator && (quotes > 0 || (sign !== SPACE && sign !== TAB))) return false;
    return held.length < BUFFERED_CHARS_MAX;
  }
}

/** The line break at a place of a text, or "". */
function lineBreakAt(text: string, at: number, sign: number): string {
  if (sign === LINE_FEED) return "\n";
  if (sign !== CARRIAGE_RETURN) return "";
  return text.charCodeAt(at + 1) === LINE_FEED ? "\r\n" : "\r";
}

/** Whether a row has the columns of the heading says `hasColumns`: an empty row may have fewer. */
const PARSE_OPTIONS = {
  relax_column_count: true,
  trim: true, // what stands in quotes stays as it is
  skip_empty_lines: true,
  skip_records_with_empty_values: true, // a spreadsheet's empty rows
} as const;

/** Whether a row has the columns of the heading. Behind them nothing but empty ones may stand. */
export const hasColumns = (cells: readonly string[], { length }: readonly unknown[]) =>
  cells.length >= length && cells.slice(length).every((cell) => cell === "");

export const COLUMN_COUNT_MESSAGE = "it has not as many columns as the first line";

export const BAD_QUOTE_MESSAGE = "a quoted text has no end, or a quote stands where none may stand";

/** The options of csv-parse for a merchant's file, and the lines of its rows. One for each file. */
export function createCsvOptions(delimiter: string) {
  const count = createLineCounter();
  const begins: number[] = [];
  const options = {
    ...PARSE_OPTIONS,
    delimiter,
    on_record(cells: string[], { lines }: { lines: number }) {
      begins.push(count.lineOf(cells, lines));
      return cells;
    },
  };
  return {
    options,
    /** The line on which each row begins, in their order. It is known when a row was read, though what is wrong further down may keep it from being taken. */
    begins,
    /** The line of what can't be read. Of a text without an end the parser says the end of the file. */
    tornAt: ({ code, lines }: CsvError): number => (code.includes("INVALID") ? Number(lines) : count.next()),
  };
}

/** Says on which line each row of a CSV begins, from 1. */
function createLineCounter() {
  let twice = 0; // breaks that the parser counted so: of a quoted \r\n it counts each sign
  let next = 1;
  return {
    /**
     * By where the row ends: between it and the one before empty ones may stand.
     *
     * @param lines  the parser's `info.lines` of it; to be called for every row in turn
     */
    lineOf(cells: readonly string[], lines: number): number {
      twice += countMatches(cells, /\r\n/g);
      next = lines - twice + 1;
      return lines - twice - countMatches(cells, LINE_BREAK);
    },
    /** The one after the last row. */
    next: () => next,
  };
}

const LINE_BREAK = /\r\n|[\r\n]/g;
const countMatches = (cells: readonly string[], sign: RegExp) =>
  cells.reduce((sum, cell) => sum + (cell.match(sign)?.length ?? 0), 0);
