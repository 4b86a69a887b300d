import { createReadStream } from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createZstdCompress, createZstdDecompress } from "node:zlib";
import { type DumpHeader, type DumpPiece, RestoreRefused, type TableChecksum } from "../postgres/database-dump.ts";
import { CommandFailure } from "./command.ts";

// A zstd stream of frames: a letter for the type, four bytes for the length, the content. MAGIC comes first.
const MAGIC = "backup of Dunlin, form 1";
const FRAME_TYPES = { file: "F", whole: "W", table: "T", rows: "R", end: "E", over: "Z" } as const;
const FRAME_BYTES_MAX = 64 * 1024 * 1024;

export interface BackupTotals {
  tables: number;
  rows: number;
}

/** Writes to `temporaryPath`, readable by its owner alone, and renames it when it is complete. */
export async function writeBackup(
  path: string,
  pieces: AsyncIterable<DumpPiece>,
  temporaryPath: string,
): Promise<BackupTotals> {
  const totals = { tables: 0, rows: 0 };
  try {
    const file = await open(temporaryPath, "wx", 0o600);
    await pipeline(
      Readable.from(encodeFrames(pieces, totals)),
      createZstdCompress(),
      file.createWriteStream({ flush: true }),
    );
    await rename(temporaryPath, path);
  } catch (error) {
    await rm(temporaryPath, { force: true });
    throw withFilePath(error, `Cannot write ${path}`);
  }
  return totals;
}

async function* encodeFrames(pieces: AsyncIterable<DumpPiece>, totals: BackupTotals) {
  yield encodeFrame("file", MAGIC);
  for await (const piece of pieces) {
    if (piece.kind === "end") {
      totals.tables++;
      totals.rows += piece.check.rows;
    }
    if (piece.kind === "rows") yield encodeFrame("rows", piece.bytes);
    else yield encodeFrame(piece.kind, frameContentOf(piece));
  }
  yield encodeFrame("over", JSON.stringify(totals));
}

const frameContentOf = (piece: Exclude<DumpPiece, { kind: "rows" }>): string => {
  if (piece.kind === "whole") return JSON.stringify(piece.whole);
  return piece.kind === "table" ? piece.table : JSON.stringify(piece.check);
};

function encodeFrame(kind: keyof typeof FRAME_TYPES, content: string | Buffer): Buffer {
  const bytes = Buffer.from(content as string);
  const head = Buffer.alloc(5);
  head.write(FRAME_TYPES[kind], "latin1");
  head.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
}

export async function* readBackup(path: string): AsyncGenerator<DumpPiece> {
  const bytes = createReadStream(path).on("error", (error) => unpacked.destroy(error));
  const unpacked = bytes.pipe(createZstdDecompress());
  let hasHeader = false;
  try {
    for await (const { kind, content } of decodeFrames(unpacked)) {
      if (!hasHeader && (kind !== FRAME_TYPES.file || content.toString() !== MAGIC))
        throw new RestoreRefused("it is not a Dunlin backup, or a newer version wrote it");
      hasHeader = true;
      if (kind === FRAME_TYPES.over) return;
      if (kind === FRAME_TYPES.whole) yield { kind: "whole", whole: JSON.parse(content.toString()) as DumpHeader };
      else if (kind === FRAME_TYPES.table) yield { kind: "table", table: content.toString() };
      else if (kind === FRAME_TYPES.rows) yield { kind: "rows", bytes: content };
      else if (kind === FRAME_TYPES.end) yield { kind: "end", check: JSON.parse(content.toString()) as TableChecksum };
    }
    throw new RestoreRefused("it is incomplete");
  } catch (error) {
    throw withFilePath(error, `Cannot read ${path}`);
  } finally {
    bytes.destroy();
  }
}

async function* decodeFrames(stream: AsyncIterable<Buffer>) {
  let buffered: Buffer = Buffer.alloc(0);
  for await (const bytes of stream) {
    buffered = buffered.length === 0 ? bytes : Buffer.concat([buffered, bytes]);
    let at = 0;
    while (buffered.length - at >= 5) {
      const length = buffered.readUInt32BE(at + 1);
      if (length > FRAME_BYTES_MAX) throw new RestoreRefused("it is not a Dunlin backup");
      if (buffered.length - at < 5 + length) break;
      yield { kind: buffered.toString("latin1", at, at + 1), content: buffered.subarray(at + 5, at + 5 + length) };
      at += 5 + length;
    }
    buffered = buffered.subarray(at);
  }
}

/** Verifies each table's row count, but not its checksum. */
export async function checkBackup(path: string): Promise<BackupTotals> {
  const totals = { tables: 0, rows: 0 };
  let lines = 0;
  let table = "";
  for await (const piece of readBackup(path)) {
    if (piece.kind === "table") table = piece.table;
    if (piece.kind === "rows") for (const byte of piece.bytes) lines += Number(byte === NEWLINE);
    if (piece.kind !== "end") continue;
    if (piece.check.rows !== lines)
      throw new CommandFailure(`${path} is damaged: table ${table} has ${lines} rows instead of ${piece.check.rows}.`);
    totals.tables++;
    totals.rows += lines;
    lines = 0;
  }
  return totals;
}

const NEWLINE = 0x0a;

/** Database errors stay as they are. */
function withFilePath(error: unknown, problem: string): unknown {
  const { code, message } = error as { code?: unknown; message: string };
  const isFileError = error instanceof RestoreRefused || /^(E[A-Z]+|Z_|ZSTD)/.test(String(code ?? ""));
  return isFileError ? new CommandFailure(`${problem}: ${message}`) : error;
}
