import { X509Certificate } from "node:crypto";
import type { TLSSocket } from "node:tls";
import { emptyTimings, type Timings } from "./exchange.ts";

/** Diagnoses one attempt. Too slow for events. */
export interface AttemptTrace {
  /** When the connection is opened. */
  watch(socket: TLSSocket): void;
  /** The reply, raw. */
  onBytes(bytes: Buffer): void;
  /** Without its framing. */
  onBody(bytes: Buffer): void;
  result(): TraceResult;
}

export interface TraceResult extends Timings {
  /** Dialed addresses, in order. */
  addresses: string[];
  /** The exact request. */
  sent: string;
  /** Reply, with headers. */
  head: string;
  /** The first 4 KiB. */
  body: string;
  protocol: string | null;
  certificate: Certificate | null;
  /** Such as ENOTFOUND. */
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
const HEAD_BYTES = 32_768;

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
      // Before the verification, because an invalid certificate is the most useful one to show.
      socket.prependOnceListener("secure", () => {
        timings.tlsMs = sinceMs();
        protocol = socket.getProtocol();
        certificate = readCertificate(socket);
      });
      socket.once("error", (error: NodeJS.ErrnoException) => {
        code = error.code ?? null;
      });
      const write = socket.write;
      // The only way to record the exact bytes.
      socket.write = ((chunk: string | Buffer, ...rest: [BufferEncoding]) => {
        const encoding = typeof rest[0] === "string" ? rest[0] : "utf8";
        sent = Buffer.concat([sent, typeof chunk === "string" ? Buffer.from(chunk, encoding) : chunk]);
        return write.call(socket, chunk, ...rest);
      }) as typeof socket.write;
    },
    onBytes(bytes) {
      timings.firstByteMs ??= sinceMs();
      if (raw.length < HEAD_BYTES) raw = Buffer.concat([raw, bytes.subarray(0, HEAD_BYTES - raw.length)]);
    },
    onBody(bytes) {
      if (body.length < BODY_BYTES) body = Buffer.concat([body, bytes.subarray(0, BODY_BYTES - body.length)]);
    },
    result: () => ({
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

/** The final headers, after any interim replies. */
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
  // In Node 22 and 24, `getPeerX509Certificate` removes the certificate from the chain, which is verified afterwards.
  const { raw } = socket.getPeerCertificate() as { raw?: Buffer };
  if (raw === undefined) return null;
  const certificate = new X509Certificate(raw);
  const inOneLine = (name: string) => name.trim().replaceAll("\n", ", ");
  return {
    subject: inOneLine(certificate.subject),
    issuer: inOneLine(certificate.issuer),
    names: certificate.subjectAltName ?? "",
    validFrom: certificate.validFromDate,
    validTo: certificate.validToDate,
  };
}
