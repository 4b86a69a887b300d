import type { AttemptTrace } from "./attempt-trace.ts";

/**
 * `text`: the beginning of an unsuccessful body. `isLocalFailure`: nothing was sent, because this process is out of a resource.
 */
export type Reply =
  | { outcome: "response"; status: number; retryAfter: string | null; text: string | null }
  | { outcome: "failed"; error: string; isLocalFailure?: true };

/** From the attempt's start to each step's end; null if the step was not reached or not needed. */
export interface Timings {
  lookUpMs: number | null;
  connectMs: number | null;
  tlsMs: number | null;
  firstByteMs: number | null;
}

export const emptyTimings = (): Timings => ({ lookUpMs: null, connectMs: null, tlsMs: null, firstByteMs: null });

export interface ReplyLimits {
  /** To the status line. */
  replyMs: number;
  /** From the status line to the body's end. */
  bodyMs: number;
  bodyBytes: number;
}

export const REPLY_LIMITS: ReplyLimits = { replyMs: 30_000, bodyMs: 2_000, bodyBytes: 65_536 };

const STORED_BODY_BYTES = 4_096;
/** Such as 103. */
const INTERIM_BYTES_MAX = 65_536;

export interface Exchange {
  startedMs: number;
  timings: Timings;
  /** 0 before a final status line. */
  status: number;
  retryAfter: string | null;
  /** Unparsed bytes before it. */
  head: string;
  interimBytes: number;
  bodyBytes: number;
  bodyChunks: Buffer[];
  trace: AttemptTrace | undefined;
  resolve(reply: Reply): void;
}

export const isSuccess = (status: number) => status >= 200 && status <= 299;

/**
 * The status line alone decides success, but the HTTP parser reports it only after the last header.
 *
 * @returns an error text if the bytes before it are invalid
 */
export function readStatusLine(exchange: Exchange, bytes: Buffer): string | null {
  if (exchange.head === "") {
    exchange.status = parseCompleteStatusLine(bytes);
    if (exchange.status !== 0) return null;
  }
  exchange.interimBytes += bytes.length;
  /** Relative to `bytes`. */
  let start = -exchange.head.length;
  exchange.head += bytes.toString("latin1", 0, Math.min(bytes.length, INTERIM_BYTES_MAX));
  for (;;) {
    // The parser skips empty lines before a status line.
    const line = exchange.head.search(/[^\r\n]|$/);
    exchange.head = exchange.head.slice(line);
    start += line;
    const end = exchange.head.indexOf("\n");
    const match = end < 0 ? null : /^HTTP\/1\.[01] (\d{3})[ \r\n]/.exec(exchange.head);
    const status = Number(match?.[1] ?? 0);
    if (status >= 200) {
      exchange.status = status;
      exchange.head = "";
      return null;
    }
    if (status === 101) return "the reply switches to another protocol";
    // RFC 9110, section 15.2, requires skipping interim replies, but the parser closes the connection after an unexpected 100. So
    // it is shown a 102.
    const lastDigit = start + "HTTP/1.1 10".length;
    if (status === 100 && lastDigit >= 0) bytes[lastDigit] = "2".charCodeAt(0);
    const next = match === null ? -1 : exchange.head.indexOf("\r\n\r\n");
    if (next < 0) break;
    exchange.head = exchange.head.slice(next + 4);
    start += next + 4;
  }
  return exchange.interimBytes > INTERIM_BYTES_MAX ? "more than 64 KiB arrived before the final status line" : null;
}

const PROTOCOL = Buffer.from("HTTP/1.");
const [LF, CR, SPACE, ZERO, ONE, TWO, NINE] = [0x0a, 0x0d, 0x20, 0x30, 0x31, 0x32, 0x39];

/** Nearly all replies begin with a complete status line, so this avoids a string and a search; else 0. */
function parseCompleteStatusLine(bytes: Buffer): number {
  for (let at = 0; at < PROTOCOL.length; at++) if (bytes[at] !== PROTOCOL[at]) return 0;
  const [minor, first, second, third, next] = [bytes[7], bytes[9], bytes[10], bytes[11], bytes[12]];
  if ((minor !== ZERO && minor !== ONE) || bytes[8] !== SPACE) return 0;
  if (!isDigit(first) || first < TWO || !isDigit(second) || !isDigit(third)) return 0;
  if (next !== SPACE && next !== CR && next !== LF) return 0;
  for (let at = 12; at < bytes.length; at++)
    if (bytes[at] === LF) return (first - ZERO) * 100 + (second - ZERO) * 10 + (third - ZERO);
  return 0;
}

const isDigit = (byte: number | undefined): byte is number => byte !== undefined && byte >= ZERO && byte <= NINE;

/** Keeps an unsuccessful body's beginning. Returns false once enough was read. */
export function readBody(exchange: Exchange, bytes: Buffer, limits: ReplyLimits): boolean {
  if (!isSuccess(exchange.status) && exchange.bodyBytes < STORED_BODY_BYTES)
    exchange.bodyChunks.push(Buffer.from(bytes.subarray(0, STORED_BODY_BYTES - exchange.bodyBytes)));
  exchange.bodyBytes += bytes.length;
  return exchange.bodyBytes <= limits.bodyBytes;
}

export function buildReply(exchange: Exchange): Reply {
  const text = exchange.bodyChunks.length === 0 ? null : Buffer.concat(exchange.bodyChunks).toString("utf8");
  return { outcome: "response", status: exchange.status, retryAfter: exchange.retryAfter, text };
}

const ERROR_TEXT_BY_CODE: Record<string, string> = {
  ECONNREFUSED: "the connection was refused",
  ECONNRESET: "the connection was reset",
  EPIPE: "the connection was closed while the request was sent",
  ETIMEDOUT: "the connection timed out",
  EHOSTUNREACH: "the host cannot be reached",
  ENETUNREACH: "the network cannot be reached",
  ENOTFOUND: "the host name was not found",
  EAI_AGAIN: "the host name could not be looked up",
  UND_ERR_SOCKET: "the connection was closed before a reply",
  UND_ERR_HEADERS_OVERFLOW: "the reply headers are too large",
  ERR_ASSERTION: "the reply is not HTTP/1.1",
};

/** A failure before the status line, for the log. */
export function errorText(error: Error): string {
  const first = error instanceof AggregateError ? ((error.errors[0] as Error | undefined) ?? error) : error;
  const code = String((first as { code?: unknown }).code ?? "");
  if (code.startsWith("HPE_")) return `the reply is not HTTP/1.1 (${code})`;
  const words = ERROR_TEXT_BY_CODE[code];
  return words === undefined ? first.message.slice(0, 500) : `${words} (${code})`;
}
