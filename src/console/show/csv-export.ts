import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";

export type CsvCell = string | number | bigint | null;

// A spreadsheet takes what begins so for a formula, and runs it; some read the signs of full width as the others.
const FORMULA_START = /^\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r]/;
// In many countries a semicolon parts cells, and a tab does in what is pasted.
const QUOTED_CHARACTERS = /[",;\t\r\n]/;

/** A line of RFC 4180. Text that a spreadsheet would take for a formula gets an apostrophe in front, which it shows as text. */
export function formatCsvLine(cells: readonly CsvCell[]): string {
  const written = cells.map((cell) => {
    if (cell === null) return "";
    const text = typeof cell === "string" && FORMULA_START.test(cell) ? `'${cell}` : String(cell);
    return QUOTED_CHARACTERS.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  });
  return `${written.join(",")}\r\n`;
}

/**
 * Send a table as a file, page after page as it is read: memory stays flat whatever its length.
 *
 * @param pages  gives the next rows, or none in the end
 */
export function sendCsv(
  reply: FastifyReply,
  name: string,
  headings: readonly string[],
  pages: AsyncIterable<readonly (readonly CsvCell[])[]> | Iterable<readonly (readonly CsvCell[])[]>,
) {
  async function* text() {
    // Spreadsheets take a file without the mark for the machine's own encoding.
    yield `\ufeff${formatCsvLine(headings)}`;
    for await (const rows of pages) yield rows.map(formatCsvLine).join("");
  }
  reply.header("content-type", "text/csv; charset=utf-8");
  reply.header("content-disposition", `attachment; filename="${name}"`);
  return reply.send(Readable.from(text(), { objectMode: false }));
}

/** Rows page by page: `next` gets the last row of the page before. */
export async function* readInPages<Row>(
  pageSize: number,
  next: (last: Row | null) => Promise<readonly Row[]>,
  cells: (row: Row) => readonly CsvCell[],
) {
  let last: Row | null = null;
  for (;;) {
    const rows: readonly Row[] = await next(last);
    if (rows.length > 0) yield rows.map(cells);
    if (rows.length < pageSize) return;
    last = rows.at(-1)!;
  }
}
