import type { Writable } from "node:stream";
import type pg from "pg";

/** What a statement is bound to. */
interface Bound {
  portal?: string;
  statement?: string;
  values?: readonly unknown[];
  binary?: boolean;
  valueMapper(value: unknown): Buffer | string | null;
}

/** What pg's connection has beyond its published types. */
interface Binding {
  stream: Writable;
  bind(bound: Bound): void;
}

const BIND = "B".charCodeAt(0);
/** What of a message is always there: its kind, its length, two ends of names, two counts, and the one format of the answer with its count. */
const FRAME_BYTES = 1 + 4 + 2 + 2 * 2 + 2 * 2;
const FORMAT_BYTES = 2;
const LENGTH_BYTES = 4;
const NULL_LENGTH = -1;
/** What is shorter costs less to copy than to write by itself. */
const APART_MIN = 2048;

/**
 * Have this client write large parameters as they are. The driver copies all of a statement's into one message, in a buffer that begins small
 * and is thrown away as it grows: of a flush two and a half times what it holds, which nobody sees but the collector of garbage, who then looks
 * through the whole heap.
 *
 * @see https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-BIND
 */
export function bindWithoutCopies(client: pg.ClientBase) {
  const { connection } = client as unknown as { connection: Binding };
  connection.bind = (bound) => {
    if (!connection.stream.writable) return;
    // The driver corks its socket for the messages of one statement.
    for (const piece of piecesOf(bound)) connection.stream.write(piece);
  };
}

/** The message that binds these values, in pieces. Throws what `valueMapper` throws, before anything is written. */
function piecesOf({ portal = "", statement = "", values = [], binary = false, valueMapper }: Bound): Buffer[] {
  const isText: boolean[] = [];
  const written = values.map((value) => {
    const mapped = valueMapper(value);
    isText.push(!Buffer.isBuffer(mapped));
    return typeof mapped === "string" ? Buffer.from(mapped) : mapped;
  });
  const names = Buffer.byteLength(portal) + Buffer.byteLength(statement);
  let size = FRAME_BYTES + names + values.length * (FORMAT_BYTES + LENGTH_BYTES);
  let apart = 0;
  for (const bytes of written) {
    if (isApart(bytes)) apart += bytes!.length;
    else size += bytes?.length ?? 0;
  }

  const pieces: Buffer[] = [];
  const own = Buffer.allocUnsafe(size);
  own[0] = BIND;
  let at = own.writeInt32BE(size - 1 + apart, 1);
  let begun = 0;
  for (const name of [portal, statement]) {
    at += own.write(name, at);
    own[at++] = 0;
  }
  at = own.writeUInt16BE(values.length, at);
  for (const each of isText) at = own.writeInt16BE(each ? 0 : 1, at);
  at = own.writeUInt16BE(values.length, at);
  for (const bytes of written) {
    at = own.writeInt32BE(bytes?.length ?? NULL_LENGTH, at);
    if (isApart(bytes)) {
      pieces.push(own.subarray(begun, at), bytes!);
      begun = at;
    } else if (bytes) at += bytes.copy(own, at);
  }
  at = own.writeInt16BE(1, at);
  own.writeInt16BE(binary ? 1 : 0, at);
  pieces.push(own.subarray(begun));
  return pieces;
}

const isApart = (bytes: Buffer | null) => bytes !== null && bytes.length >= APART_MIN;
