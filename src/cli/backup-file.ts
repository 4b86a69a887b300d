import { createReadStream } from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createZstdCompress, createZstdDecompress } from "node:zlib";
import { type DumpHeader, type DumpPiece, RestoreRefused, type TableChecksum } from "../postgres/database-dump.ts";
import { CommandFailure } from "./command.ts";

// A backup is a sequence of frames, compressed by zstd: a letter, the length of what follows in four bytes, and that. The first one says what the file is.
const MAGIC = "backup of Dunlin, form 1";
const FRAME_TYPES = { file: "F", whole: "W", table: "T", rows: "R", end: "E", over: "Z" } as const;
const FRAME_BYTES_MAX = 64 * 1024 * 1024;

/** Tables and rows of a backup. */
export interface BackupTotals {
  tables: number;
  rows: number;
}

/**
 * Writes a backup that only its owner may read, and that is there when it is whole.
 *
 * @returns what it holds
 */
export async function writeBackup(
  path: string,
  pieces: AsyncIterable<DumpPiece>,
  unfinished: string,
): Promise<BackupTotals> {
  const totals = { tables: 0, rows: 0 };
  try {
    const file = await open(unfinished, "wx", 0o600);
    await pipeline(
      Readable.from(encodeFrames(pieces, totals)),
      createZstdCompress(),
      file.createWriteStream({ flush: true }),
    );
    await rename(unfinished, path);
  } catch (error) {
    await rm(unfinished, { force: true });
    throw withFilePath(error, `cannot write ${path}`);
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

/** The pieces of a backup, each as it was written. */
export async function* readBackup(path: string): AsyncGenerator<DumpPiece> {
  const bytes = createReadStream(path).on("error", (error) => unpacked.destroy(error));
  const unpacked = bytes.pipe(createZstdDecompress());
  let isBegun = false;
  try {
    for await (const { kind, content } of decodeFrames(unpacked)) {
      if (!isBegun && (kind !== "F" || content.toString() !== MAGIC))
        throw new RestoreRefused("it is no backup of Dunlin's, or of a newer version");
      isBegun = true;
      if (kind === FRAME_TYPES.over) return;
      if (kind === FRAME_TYPES.whole) yield { kind: "whole", whole: JSON.parse(content.toString()) as DumpHeader };
      else if (kind === FRAME_TYPES.table) yield { kind: "table", table: content.toString() };
      else if (kind === FRAME_TYPES.rows) yield { kind: "rows", bytes: content };
      else if (kind === FRAME_TYPES.end) yield { kind: "end", check: JSON.parse(content.toString()) as TableChecksum };
    }
    throw new RestoreRefused("it is incomplete");
  } catch (error) {
    throw withFilePath(error, `cannot read ${path}`);
  } finally {
    bytes.destroy();
  }
}

async function* decodeFrames(stream: AsyncIterable<Buffer>) {
  let waiting: Buffer = Buffer.alloc(0);
  for await (const bytes of stream) {
    waiting = waiting.length === 0 ? bytes : Buffer.concat([waiting, bytes]);
    let at = 0;
    while (waiting.length - at >= 5) {
      const length = waiting.readUInt32BE(at + 1);
      if (length > FRAME_BYTES_MAX) throw new RestoreRefused("it is no backup of Dunlin's");
      if (waiting.length - at < 5 + length) break;
      yield { kind: waiting.toString("latin1", at, at + 1), content: waiting.subarray(at + 5, at + 5 + length) };
      at += 5 + length;
    }
    waiting = waiting.subarray(at);
  }
}

/** Reads a backup to its end. @returns what it holds by what is in it */
export async function checkBackup(path: string): Promise<BackupTotals> {
  const totals = { tables: 0, rows: 0 };
  let lines = 0;
  for await (const piece of readBackup(path)) {
    if (piece.kind === "rows") for (const byte of piece.bytes) lines += Number(byte === NEWLINE);
    if (piece.kind !== "end") continue;
    if (piece.check.rows !== lines)
      throw new CommandFailure(`${path} holds ${lines} rows where it says ${piece.check.rows}`);
    totals.tables++;
    totals.rows += lines;
    lines = 0;
  }
  return totals;
}

const NEWLINE = 0x0a;

/** Of a file and its content; what a database says stays as it is. */
function withFilePath(error: unknown, where: string): unknown {
  const { code, message } = error as { code?: unknown; message: string };
  const isOfFile = error instanceof RestoreRefused || /^(E[A-Z]+|Z_|ZSTD)/.test(String(code ?? ""));
  return isOfFile ? new CommandFailure(`${where}: ${message}`) : error;
}
