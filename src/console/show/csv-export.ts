import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";

export type CsvCell = string | number | bigint | null;

// A spreadsheet executes text that starts like this, in some even with full-width signs.
const FORMULA_START = /^\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r]/;
// Many countries separate cells with semicolons, and pasted text uses tabs.
const QUOTED_CHARACTERS = /[",;\t\r\n]/;

/** RFC 4180. The apostrophe makes a spreadsheet show a formula as text. */
export function formatCsvLine(cells: readonly CsvCell[]): string {
  const fields = cells.map((cell) => {
    if (cell === null) return "";
    const text = typeof cell === "string" && FORMULA_START.test(cell) ? `'${cell}` : String(cell);
    return QUOTED_CHARACTERS.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  });
  return `${fields.join(",")}\r\n`;
}

/** Memory does not grow with the table. */
export function sendCsv(
  reply: FastifyReply,
  name: string,
  headings: readonly string[],
  pages: AsyncIterable<readonly (readonly CsvCell[])[]> | Iterable<readonly (readonly CsvCell[])[]>,
) {
  async function* text() {
    // Without a byte order mark, spreadsheets assume the machine's own encoding.
    yield `\ufeff${formatCsvLine(headings)}`;
    for await (const rows of pages) yield rows.map(formatCsvLine).join("");
  }
  reply.header("content-type", "text/csv; charset=utf-8");
  reply.header("content-disposition", `attachment; filename="${name}"`);
  return reply.send(Readable.from(text(), { objectMode: false }));
}

/** `next` gets the previous page's last row. */
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
