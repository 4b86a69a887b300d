import type { CsvError } from "csv-parse";
import { FileRefusedError } from "./file-refused-error.ts";

/** Semicolons are usual with a decimal comma, and tabs in pasted text. */
const DELIMITERS = [",", ";", "\t"];

/** `sep=;` tells Excel the delimiter. A spreadsheet may have added quotes and delimiters. */
const SEP_DIRECTIVE = /^\s*"?sep=([^\w\s"]|\t)"?[,;\t]*(?=[\r\n])/i;

/**
 * Also removes the `sep=` line, but not its line break, so that line numbers do not change.
 *
 * @param begin  at least the first non-empty line
 * @param isName  whether a column with that name would be read
 */
export function detectDelimiter(
  begin: string,
  isName: (name: string) => boolean,
): { delimiter: string; begin: string } {
  const directive = SEP_DIRECTIVE.exec(begin);
  return directive
    ? { delimiter: directive[1]!, begin: begin.slice(directive[0].length) }
    : { delimiter: guessDelimiter(begin, isName), begin };
}

/** Prefers the most known names, then the most names. */
export function guessDelimiter(text: string, isName: (name: string) => boolean): string {
  const heading = firstLineOf(text) ?? text.trimStart();
  const [best] = DELIMITERS.map((sign) => {
    const names = columnNamesOf(heading, sign);
    return { sign, known: names.filter(isName).length, all: names.length };
  }).sort((a, b) => b.known - a.known || b.all - a.all);
  return best!.sign;
}

/** Skips empty lines. Undefined if it has no end. Includes quoted line breaks. */
export function firstLineOf(text: string): string | undefined {
  const trimmed = text.trimStart();
  let isQuoted = false;
  for (let at = 0; at < trimmed.length; at++) {
    const sign = trimmed[at]!;
    if (sign === '"') isQuoted = !isQuoted;
    else if (!isQuoted && (sign === "\n" || sign === "\r")) return trimmed.slice(0, at);
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

/** Reads `="00123"`, by which programs make a spreadsheet keep zeros, as `"00123"`. */
export function createFormulaReader(): (piece: string, isLast?: boolean) => string {
  let isQuoted = false;
  let pending = "";
  return (piece, isLast = false) => {
    const text = pending + piece;
    pending = text.endsWith("=") && !isLast ? "=" : "";
    return text.slice(0, text.length - pending.length).replace(/="|"/g, (signs, at) => {
      const isFormula = signs === '="' && !isQuoted && text[at - 1] !== '"';
      isQuoted = !isQuoted;
      return isFormula ? '"' : signs;
    });
  };
}

export const unwrapFormula = (cell: string): string => {
  const text = /^="(.*)"$/s.exec(cell)?.[1];
  return text === undefined ? cell : text.replaceAll('""', '"');
};

/** A row of delimiters would fill the memory. */
export const COLUMNS_MAX = 1_000;
/** A spreadsheet's rows. */
const EMPTY_ROWS_MAX = 1_048_576;

/** `COLUMNS_MAX` quoted empty cells, and any number of blanks. */
const BUFFERED_CHARS_MAX = 4 * COLUMNS_MAX;

const [TAB, LINE_FEED, CARRIAGE_RETURN, SPACE, QUOTE] = [9, 10, 13, 32, 34];

/**
 * The parser is slow on empty rows. Line breaks stay. As in the parser, a row ends at the kind of line break that ended the first
 * row.
 *
 * Throws a FileRefusedError for a row with more than `COLUMNS_MAX` columns, and after `EMPTY_ROWS_MAX` empty rows.
 */
export function createEmptyRowFilter(delimiter: string): (piece: string, isLast?: boolean) => string {
  const separator = delimiter.charCodeAt(0);
  let pending = ""; // a line feed may follow
  let rowEnd = "";
  let isQuoted = false;
  let isEmpty = true;
  let held = ""; // text of an empty row
  let quotes = 0; // in its last cell
  let columns = 1;
  let emptyRows = 0;
  let line = 1;
  let rowLine = 1;

  function endRow() {
    emptyRows = isEmpty ? emptyRows + 1 : 0;
    if (emptyRows > EMPTY_ROWS_MAX)
      throw new FileRefusedError(
        `line ${rowLine}: more than ${EMPTY_ROWS_MAX.toLocaleString("en")} consecutive empty rows; delete the empty rows of the file`,
      );
    isEmpty = true;
    rowLine = line;
    held = "";
    [columns, quotes] = [1, 0];
  }

  return (piece, isLast = false) => {
    const text = pending + piece;
    pending = text.endsWith("\r") && !isLast ? "\r" : "";
    const end = text.length - pending.length;
    let out = "";
    let from = 0; // start of unwritten text
    for (let at = 0; at < end; at++) {
      const sign = text.charCodeAt(at);
      const lineBreak = lineBreakAt(text, at, sign);
      const endsRow = lineBreak !== "" && !isQuoted && (rowEnd === "" || lineBreak.includes(rowEnd));
      if (isEmpty && !endsRow && !keepsRowEmpty(sign)) {
        isEmpty = false;
        out += held;
        from = at;
      }
      if (isEmpty && !endsRow) held += text[at];
      if (sign === QUOTE) {
        isQuoted = !isQuoted;
        quotes++;
      } else if (lineBreak !== "") {
        at += lineBreak.length - 1;
        line++;
        if (!endsRow) continue;
        out += isEmpty ? lineBreak : text.slice(from, at + 1);
        rowEnd ||= lineBreak;
        endRow();
      } else if (sign === separator && !isQuoted) {
        if (++columns > COLUMNS_MAX)
          throw new FileRefusedError(
            `line ${rowLine}: it has more than ${COLUMNS_MAX.toLocaleString("en")} columns; check the separators of columns and lines in the file`,
          );
        quotes = 0;
      }
    }
    if (!isEmpty) return out + text.slice(from, end);
    return isLast ? out + held : out;
  };

  /** A quoted empty cell is exactly two quotes. */
  function keepsRowEmpty(sign: number): boolean {
    if (sign === QUOTE) return quotes < 2;
    if (isQuoted) return false;
    if (sign !== separator && (quotes > 0 || (sign !== SPACE && sign !== TAB))) return false;
    return held.length < BUFFERED_CHARS_MAX;
  }
}

function lineBreakAt(text: string, at: number, sign: number): string {
  if (sign === LINE_FEED) return "\n";
  if (sign !== CARRIAGE_RETURN) return "";
  return text.charCodeAt(at + 1) === LINE_FEED ? "\r\n" : "\r";
}

/** `hasColumns` checks instead, because an empty row may have fewer. */
const PARSE_OPTIONS = {
  relax_column_count: true,
  trim: true, // quoted blanks stay
  skip_empty_lines: true,
  skip_records_with_empty_values: true, // as in spreadsheets
} as const;

/** Additional cells must be empty. */
export const hasColumns = (cells: readonly string[], { length }: readonly unknown[]) =>
  cells.length >= length && cells.slice(length).every((cell) => cell === "");

export const COLUMN_COUNT_MESSAGE = "its columns do not match the first line";

export const BAD_QUOTE_MESSAGE = "a quoted text is not closed, or a quote is misplaced";

/** For one file, because it counts lines. */
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
    /** Each parsed row's first line. A later error may keep such a row from being returned. */
    begins,
    /** For an unclosed quote, the parser reports the file's end. */
    tornAt: ({ code, lines }: CsvError): number => (code.includes("INVALID") ? Number(lines) : count.next()),
  };
}

function createLineCounter() {
  let doubleCounted = 0; // the parser counts a quoted CRLF twice
  let next = 1;
  return {
    /**
     * Call it for every row in order. Counts from the row's end, because empty rows may precede it.
     *
     * @param lines  the parser's `info.lines`
     */
    lineOf(cells: readonly string[], lines: number): number {
      doubleCounted += countMatches(cells, /\r\n/g);
      next = lines - doubleCounted + 1;
      return lines - doubleCounted - countMatches(cells, LINE_BREAK);
    },
    next: () => next,
  };
}

const LINE_BREAK = /\r\n|[\r\n]/g;
const countMatches = (cells: readonly string[], sign: RegExp) =>
  cells.reduce((sum, cell) => sum + (cell.match(sign)?.length ?? 0), 0);
