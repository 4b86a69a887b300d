import { X509Certificate } from "node:crypto";
import type { TLSSocket } from "node:tls";
import { emptyTimings, type Timings } from "./exchange.ts";

/** One attempt as it was on the wire, for diagnosis. Attempts of events are not traced, because tracing costs time. */
export interface AttemptTrace {
  /** Its connection is being made. */
  watch(socket: TLSSocket): void;
  /** Bytes as they came in. */
  received(bytes: Buffer): void;
  /** A piece of the body, without its framing. */
  body(bytes: Buffer): void;
  seen(): TraceResult;
}

export interface TraceResult extends Timings {
  /** To which a packet was sent, in turn. */
  addresses: string[];
  /** The exact request, and the reply up to the end of its headers. */
  sent: string;
  head: string;
  /** The first 4 KiB. */
  body: string;
  /** TLSv1.3 and the like. */
  protocol: string | null;
  certificate: Certificate | null;
  /** The code of the error that ended the connection: ENOTFOUND, CERT_HAS_EXPIRED and the like. */
  code: string | null;
}

export interface Certificate {
  subject: string;
  issuer: string;
  names: string;
  validFrom: Date;
  validTo: Date;
}

const BODY_BYTES = 4_096;
/** Headers beyond this are no use to a reader. */
const HEAD_BYTES = 32_768;

/** @param monotonicMs  real milliseconds that never jump */
export function startTrace(monotonicMs: () => number): AttemptTrace {
  const startedMs = monotonicMs();
  const sinceMs = () => Math.round((monotonicMs() - startedMs) * 10) / 10;
  const addresses: string[] = [];
  const timings = emptyTimings();
  let [sent, raw, body] = [Buffer.alloc(0), Buffer.alloc(0), Buffer.alloc(0)];
  let protocol: string | null = null;
  let certificate: Certificate | null = null;
  let code: string | null = null;
  return {
    watch(socket) {
      socket.on("lookup", () => {
        timings.lookUpMs ??= sinceMs();
      });
      socket.on("connectionAttempt", (address: string) => addresses.push(address));
      socket.once("connect", () => {
        timings.connectMs = sinceMs();
      });
      // Before the certificate is judged: of a bad one a reader wants to see most.
      socket.prependOnceListener("secure", () => {
        timings.tlsMs = sinceMs();
        protocol = socket.getProtocol();
        certificate = readCertificate(socket);
      });
      socket.once("error", (error: NodeJS.ErrnoException) => {
        code = error.code ?? null;
      });
      const write = socket.write;
      // The one way to show exactly what was sent, whoever composed it.
      socket.write = ((chunk: string | Buffer, ...rest: [BufferEncoding]) => {
        const encoding = typeof rest[0] === "string" ? rest[0] : "utf8";
        sent = Buffer.concat([sent, typeof chunk === "string" ? Buffer.from(chunk, encoding) : chunk]);
        return write.call(socket, chunk, ...rest);
      }) as typeof socket.write;
    },
    received(bytes) {
      timings.firstByteMs ??= sinceMs();
      if (raw.length < HEAD_BYTES) raw = Buffer.concat([raw, bytes.subarray(0, HEAD_BYTES - raw.length)]);
    },
    body(bytes) {
      if (body.length < BODY_BYTES) body = Buffer.concat([body, bytes.subarray(0, BODY_BYTES - body.length)]);
    },
    seen: () => ({
      ...timings,
      addresses,
      sent: sent.toString("utf8"),
      head: extractHead(raw.toString("latin1")),
      body: body.toString("utf8"),
      protocol,
      certificate,
      code,
    }),
  };
}

/** Up to the end of the headers of the final reply: interim replies belong to it. */
function extractHead(raw: string): string {
  let end = 0;
  do {
    const next = raw.indexOf("\r\n\r\n", end);
    if (next < 0) return raw;
    const interim = /^HTTP\/1\.[01] 1\d\d/.test(raw.slice(end));
    end = next + 4;
    if (!interim) break;
  } while (end < raw.length);
  return raw.slice(0, end);
}

function readCertificate(socket: TLSSocket): Certificate | null {
  // `getPeerX509Certificate` of Node 22 and 24 takes the certificate out of the chain, which is judged afterwards.
  const { raw } = socket.getPeerCertificate() as { raw?: Buffer };
  if (raw === undefined) return null;
  const found = new X509Certificate(raw);
  const inOneLine = (name: string) => name.trim().replaceAll("\n", ", ");
  return {
    subject: inOneLine(found.subject),
    issuer: inOneLine(found.issuer),
    names: found.subjectAltName ?? "",
    validFrom: found.validFromDate,
    validTo: found.validToDate,
  };
}
