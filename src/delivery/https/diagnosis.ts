import { DAY_MS } from "../../domain/durations.ts";
import type { TraceResult } from "./attempt-trace.ts";
import { isSuccess, type Reply } from "./exchange.ts";

export interface Diagnosis {
  /** Whether an event would be delivered. */
  fine: boolean;
  /** The fault and its remedy. */
  problem: string | null;
  /** They do not prevent delivery. */
  notes: string[];
}

const CAUSE_BY_ERROR_CODE: Record<string, (trace: TraceResult) => string> = {
  ENOTFOUND: () => "DNS: the host name does not exist or has no address. Check the host in the URL",
  EAI_AGAIN: () => "DNS: no name server answers for this host name. Ask the owner of the domain, and try again",
  ECONNREFUSED: () => "nothing listens on this address and port",
  EHOSTUNREACH: () => "the network has no route to this address",
  ENETUNREACH: () => "the network has no route to this address",
  ETIMEDOUT: () => "nothing answers on this address and port. A firewall may be dropping packets",
  ECONNRESET: ({ tlsMs }) =>
    tlsMs === null
      ? "the connection was reset before the TLS handshake ended. Is this an HTTPS port?"
      : "the connection was reset before a reply",
  CERT_HAS_EXPIRED: ({ certificate }) =>
    `TLS: the certificate expired${certificate ? ` on ${formatDay(certificate.validTo)}` : ""}. Renew it`,
  CERT_NOT_YET_VALID: ({ certificate }) =>
    `TLS: the certificate is not valid yet${certificate ? ` (valid from ${formatDay(certificate.validFrom)})` : ""}. Check the clocks`,
  DEPTH_ZERO_SELF_SIGNED_CERT: () =>
    "TLS: the certificate is self-signed. Use one from a public authority, or set DUNLIN_WEBHOOK_CA to its file",
  SELF_SIGNED_CERT_IN_CHAIN: ({ certificate }) =>
    `TLS: the certificate chain ends in an untrusted authority${issuedBy(certificate)}. If it is yours, set DUNLIN_WEBHOOK_CA to its file`,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: ({ certificate }) =>
    `TLS: the authority is unknown, or the endpoint does not send its intermediate certificates${issuedBy(certificate)}. Send the whole chain, or set DUNLIN_WEBHOOK_CA to the authority's file`,
  UNABLE_TO_GET_ISSUER_CERT: ({ certificate }) =>
    `TLS: the authority is unknown${issuedBy(certificate)}. Let the endpoint send the whole chain`,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: ({ certificate }) =>
    `TLS: the authority is unknown${issuedBy(certificate)}. Let the endpoint send the whole chain, or set DUNLIN_WEBHOOK_CA to the authority's file`,
  ERR_TLS_CERT_ALTNAME_INVALID: ({ certificate }) =>
    `TLS: the certificate is for another host name${certificate ? ` (${certificate.names || certificate.subject})` : ""}`,
  ERR_SSL_WRONG_VERSION_NUMBER: () => "TLS: the server on this port does not speak TLS. Is it plain HTTP?",
  ERR_SSL_PACKET_LENGTH_TOO_LONG: () => "TLS: the server on this port does not speak TLS. Is it plain HTTP?",
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: () =>
    "TLS: the endpoint requires a client certificate. Set DUNLIN_WEBHOOK_CLIENT_CERT and DUNLIN_WEBHOOK_CLIENT_KEY",
  ERR_SSL_TLSV1_ALERT_UNKNOWN_CA: () =>
    "TLS: the endpoint does not trust the authority of Dunlin's client certificate (DUNLIN_WEBHOOK_CLIENT_CERT)",
  ERR_SSL_UNSUPPORTED_PROTOCOL: () => "TLS: the endpoint supports only versions before 1.2",
  ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: () => "TLS: the endpoint supports only versions before 1.2",
};

const formatDay = (at: Date) => at.toISOString().slice(0, 10);
const issuedBy = (certificate: TraceResult["certificate"]) => (certificate ? ` (${certificate.issuer})` : "");

const STATUS_ADVICE: Record<number, string> = {
  401: "the endpoint refuses the credential. Set the one that it expects: npx dunlin merchant set MERCHANT --bearer-file F or --basic-file F",
  403: "the endpoint knows the credential but forbids the request, or a firewall in front of it does. Does it allow Dunlin's addresses?",
  404: "there is nothing at this path. Check the URL and --sub-paths",
  405: "this path does not accept POST. Check the URL",
  410: "the endpoint says that it was removed for good",
  413: "the endpoint rejects an event of a few hundred bytes as too large",
  415: "the endpoint does not accept application/json",
  421: "the server does not serve this host name",
  429: "the endpoint receives too many requests. Lower --cap, or ask its owner to raise the limit",
};

const EXPIRY_WARNING_DAYS = 14;
/** The limit is 30 s. */
const SLOW_REPLY_MS = 5_000;

export function diagnose(reply: Reply, trace: TraceResult, totalMs: number, realNow: Date): Diagnosis {
  if (reply.outcome === "failed") return { fine: false, problem: describeFailure(reply.error, trace), notes: [] };
  const { status } = reply;
  if (!isSuccess(status)) return { fine: false, problem: describeRefusal(status, trace), notes: [] };
  const notes = [bodyNote(trace), expiryNote(trace, realNow)].filter((note) => note !== null);
  if (totalMs > SLOW_REPLY_MS)
    notes.push(
      `the reply took ${(totalMs / 1_000).toFixed(1)} s of the allowed 30 s. Acknowledge the event first, and process it afterwards`,
    );
  return { fine: true, problem: null, notes };
}

function describeFailure(error: string, trace: TraceResult): string {
  if (/not a public address|has no address|is this machine/.test(error)) return `DNS or URL: ${error}`;
  if (error.startsWith("no status line")) return `${error}: ${describeUnfinishedStep(trace)}`;
  const cause = CAUSE_BY_ERROR_CODE[trace.code ?? /\((E[A-Z_]+)\)$/.exec(error)?.[1] ?? ""];
  if (cause) return cause(trace);
  return trace.tlsMs === null && trace.connectMs !== null ? `TLS: ${error}` : error;
}

function describeUnfinishedStep({ lookUpMs, addresses, connectMs, tlsMs, firstByteMs }: TraceResult): string {
  if (lookUpMs === null && addresses.length === 0) return "no name server answered";
  if (connectMs === null) return `no connection to ${addresses.join(", ")}. A firewall may be dropping packets`;
  if (tlsMs === null) return "connected, but the TLS handshake did not end. Is this an HTTPS port?";
  if (firstByteMs === null)
    return "the request was sent, but no reply came. Acknowledge the event first, and process it afterwards";
  return "the reply started, but its status line did not end";
}

function describeRefusal(status: number, { head }: TraceResult): string {
  if (status >= 300 && status < 400) {
    const location = /^location: *(.+?)\r?$/im.exec(head)?.[1];
    return `status ${status}: a redirect${location ? ` to ${location}` : ""}. Dunlin does not follow redirects. Set the URL to the target`;
  }
  const text =
    STATUS_ADVICE[status] ?? (status >= 500 ? "the endpoint failed. Check its log" : "the endpoint rejected the event");
  return `status ${status}: ${text}`;
}

function bodyNote({ body, head }: TraceResult): string | null {
  if (body === "") return null;
  try {
    const parsed: unknown = JSON.parse(body);
    const success = typeof parsed === "object" && parsed !== null && "success" in parsed ? parsed.success : true;
    return success === false
      ? "the body says success: false, but only the status counts, and it says that the event was accepted"
      : null;
  } catch {
    const type = /^content-type: *(.+?)\r?$/im.exec(head)?.[1];
    return `the body is not JSON${type ? ` but ${type}` : ""}. Is this the endpoint, or a page in front of it?`;
  }
}

function expiryNote({ certificate }: TraceResult, realNow: Date): string | null {
  if (certificate === null) return null;
  const days = Math.floor((certificate.validTo.getTime() - realNow.getTime()) / DAY_MS);
  return days < EXPIRY_WARNING_DAYS
    ? `the certificate expires in ${days} days, on ${formatDay(certificate.validTo)}`
    : null;
}
