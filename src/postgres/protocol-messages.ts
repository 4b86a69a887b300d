import pg from "pg";

/** A statement and the values that it is run with. */
export interface BoundStatement {
  form: { name: string; text: string };
  /** Whether this connection has yet to be told of it. */
  isNew: boolean;
  values: readonly unknown[];
}

// Not among the driver's types: values as PostgreSQL reads them, by the driver's rules.
const { prepareValue } = (pg as unknown as { utils: { prepareValue(value: unknown): Buffer | string | null } }).utils;

const BIND = "B".charCodeAt(0);
/** Asks for the columns of what is bound. */
const DESCRIBE = Buffer.from("D\0\0\0\x06P\0");
/** Runs what is bound, to its last row. */
const EXECUTE = Buffer.from("E\0\0\0\x09\0\0\0\0\0");
/** Ends what is answered together. */
const SYNC = Buffer.from("S\0\0\0\x04");
/** What of a Bind is always there: its kind, its length, two ends of names, and three counts. */
const FRAME_BYTES = 1 + 4 + 2 + 3 * 2;
const FORMAT_BYTES = 2;
const LENGTH_BYTES = 4;
const NULL_LENGTH = -1;
/** What is shorter costs less to copy than to write by itself. */
const SEPARATE_PIECE_MIN_BYTES = 2048;

/**
 * The messages that run these, one behind the other, in pieces: a large value is a piece of its own, as it is. The driver copies all of a statement's
 * into one message, in a buffer that begins small and is thrown away as it grows: of a flush two and a half times what it holds, which nobody sees but the
 * collector of garbage, who then looks through the whole heap. Throws what has no form for PostgreSQL.
 *
 * @see https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-BIND
 */
export function buildBoundMessages(bound: readonly BoundStatement[]): Buffer[] {
  const written = bound.map(({ form, isNew, values }) => ({
    parse: isNew ? buildParseMessages(form) : null,
    ...measureBindMessage(form.name, values),
  }));
  const size = ({ parse, bytes }: (typeof written)[number]) =>
    bytes + EXECUTE.length + (parse ? parse.length + DESCRIBE.length : 0);
  const own = Buffer.allocUnsafe(written.reduce((sum, each) => sum + size(each), SYNC.length));
  const pieces: Buffer[] = [];
  let begun = 0;
  let at = 0;
  for (const { parse, name, values, isText, bytes, apart } of written) {
    if (parse) at += parse.copy(own, at);
    own[at] = BIND;
    at = own.writeInt32BE(bytes - 1 + apart, at + 1);
    own[at++] = 0; // the portal has no name
    at += own.write(name, at);
    own[at++] = 0;
    at = own.writeUInt16BE(values.length, at);
    for (const each of isText) at = own.writeInt16BE(each ? 0 : 1, at);
    at = own.writeUInt16BE(values.length, at);
    for (const value of values) {
      at = own.writeInt32BE(value?.length ?? NULL_LENGTH, at);
      if (value === null) continue;
      if (value.length >= SEPARATE_PIECE_MIN_BYTES) {
        pieces.push(own.subarray(begun, at), value);
        begun = at;
      } else at += value.copy(own, at);
    }
    at = own.writeInt16BE(0, at); // all that is answered is text
    if (parse) at += DESCRIBE.copy(own, at);
    at += EXECUTE.copy(own, at);
  }
  SYNC.copy(own, at);
  pieces.push(own.subarray(begun));
  return pieces;
}

/** The messages that have a statement parsed, whether or not one of its name is there: after a failure nobody knows. */
function buildParseMessages({ name, text }: BoundStatement["form"]): Buffer {
  const close = buildMessage("C", `S${name}\0`);
  return Buffer.concat([close, buildMessage("P", `${name}\0${text}\0\0\0`)]);
}

function buildMessage(kind: string, body: string): Buffer {
  const written = Buffer.from(`${kind}\0\0\0\0${body}`);
  written.writeInt32BE(written.length - 1, 1);
  return written;
}

/** The values as bytes; of the Bind message how many bytes are written with it, and how many apart from it. */
function measureBindMessage(name: string, given: readonly unknown[]) {
  const isText: boolean[] = [];
  const values = given.map((value) => {
    const mapped = prepareValue(value);
    isText.push(!Buffer.isBuffer(mapped));
    return typeof mapped === "string" ? Buffer.from(mapped) : mapped;
  });
  let bytes = FRAME_BYTES + Buffer.byteLength(name) + values.length * (FORMAT_BYTES + LENGTH_BYTES);
  let apart = 0;
  for (const value of values) {
    if (value !== null && value.length >= SEPARATE_PIECE_MIN_BYTES) apart += value.length;
    else bytes += value?.length ?? 0;
  }
  return { name, values, isText, bytes, apart };
}
