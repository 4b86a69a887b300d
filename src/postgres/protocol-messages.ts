import pg from "pg";

export interface BoundStatement {
  form: { name: string; text: string };
  /** Whether it must be prepared first. */
  isNew: boolean;
  values: readonly unknown[];
}

// Missing in the driver's types.
const { prepareValue } = (pg as unknown as { utils: { prepareValue(value: unknown): Buffer | string | null } }).utils;

const BIND = "B".charCodeAt(0);
const DESCRIBE = Buffer.from("D\0\0\0\x06P\0");
const EXECUTE = Buffer.from("E\0\0\0\x09\0\0\0\0\0");
const SYNC = Buffer.from("S\0\0\0\x04");
/** Kind, length, ends of two names, and three counts. */
const FRAME_BYTES = 1 + 4 + 2 + 3 * 2;
const FORMAT_BYTES = 2;
const LENGTH_BYTES = 4;
const NULL_LENGTH = -1;
/** Shorter values cost less to copy than to write separately. */
const SEPARATE_PIECE_MIN_BYTES = 2048;

/**
 * A large value becomes a separate piece, without a copy. The driver would copy everything into a growing buffer, as work for the
 * garbage collector.
 *
 * @throws if a value cannot be converted
 * @see https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-BIND
 */
export function buildBoundMessages(bound: readonly BoundStatement[]): Buffer[] {
  const messages = bound.map(({ form, isNew, values }) => ({
    parse: isNew ? buildParseMessages(form) : null,
    ...measureBindMessage(form.name, values),
  }));
  const size = ({ parse, bytes }: (typeof messages)[number]) =>
    bytes + EXECUTE.length + (parse ? parse.length + DESCRIBE.length : 0);
  const buffer = Buffer.allocUnsafe(messages.reduce((sum, each) => sum + size(each), SYNC.length));
  const pieces: Buffer[] = [];
  let pieceStart = 0;
  let at = 0;
  for (const { parse, name, values, isText, bytes, separateBytes } of messages) {
    if (parse) at += parse.copy(buffer, at);
    buffer[at] = BIND;
    at = buffer.writeInt32BE(bytes - 1 + separateBytes, at + 1);
    buffer[at++] = 0; // the portal has no name
    at += buffer.write(name, at);
    buffer[at++] = 0;
    at = buffer.writeUInt16BE(values.length, at);
    for (const each of isText) at = buffer.writeInt16BE(each ? 0 : 1, at);
    at = buffer.writeUInt16BE(values.length, at);
    for (const value of values) {
      at = buffer.writeInt32BE(value?.length ?? NULL_LENGTH, at);
      if (value === null) continue;
      if (value.length >= SEPARATE_PIECE_MIN_BYTES) {
        pieces.push(buffer.subarray(pieceStart, at), value);
        pieceStart = at;
      } else at += value.copy(buffer, at);
    }
    at = buffer.writeInt16BE(0, at); // all results are text
    if (parse) at += DESCRIBE.copy(buffer, at);
    at += EXECUTE.copy(buffer, at);
  }
  SYNC.copy(buffer, at);
  pieces.push(buffer.subarray(pieceStart));
  return pieces;
}

/** Closes the statement first: after a failure, it may exist already. */
function buildParseMessages({ name, text }: BoundStatement["form"]): Buffer {
  const close = buildMessage("C", `S${name}\0`);
  return Buffer.concat([close, buildMessage("P", `${name}\0${text}\0\0\0`)]);
}

function buildMessage(kind: string, body: string): Buffer {
  const message = Buffer.from(`${kind}\0\0\0\0${body}`);
  message.writeInt32BE(message.length - 1, 1);
  return message;
}

/** Bytes in the Bind message, and in separate pieces. */
function measureBindMessage(name: string, values: readonly unknown[]) {
  const isText: boolean[] = [];
  const converted = values.map((value) => {
    const mapped = prepareValue(value);
    isText.push(!Buffer.isBuffer(mapped));
    return typeof mapped === "string" ? Buffer.from(mapped) : mapped;
  });
  let bytes = FRAME_BYTES + Buffer.byteLength(name) + converted.length * (FORMAT_BYTES + LENGTH_BYTES);
  let separateBytes = 0;
  for (const value of converted) {
    if (value !== null && value.length >= SEPARATE_PIECE_MIN_BYTES) separateBytes += value.length;
    else bytes += value?.length ?? 0;
  }
  return { name, values: converted, isText, bytes, separateBytes };
}
