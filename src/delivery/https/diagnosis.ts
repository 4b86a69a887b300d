import { DAY_MS } from "../../domain/durations.ts";
import type { TraceResult } from "./attempt-trace.ts";
import { isSuccess, type Reply } from "./exchange.ts";

/** The diagnosis of an endpoint from a traced attempt. */
export interface Diagnosis {
  /** An event sent like this would be delivered. */
  fine: boolean;
  /** The fault and its remedy; null without a fault. */
  problem: string | null;
  /** A warning: events would be delivered, but something is worth a look. */
  notes: string[];
}

/** In words, the cause of a failure before the status line: by the code of the error that ended the connection. */
const CAUSE_BY_ERROR_CODE: Record<string, (seen: TraceResult) => string> = {
  ENOTFOUND: () => "DNS: there is no such name, or it has no address. Look at the host in the URL",
  EAI_AGAIN: () => "DNS: no name server answers for this name. Ask its owner, and try again",
  ECONNREFUSED: () => "nobody listens on this address and port",
  EHOSTUNREACH: () => "the network has no way to this address",
  ENETUNREACH: () => "the network has no way to this address",
  ETIMEDOUT: () => "nobody answers on this address and port: a firewall may swallow our packets",
  ECONNRESET: ({ tlsMs }) =>
    tlsMs === null
      ? "the connection was reset before TLS was up: is this an HTTPS port?"
      : "the connection was reset before a reply",
  CERT_HAS_EXPIRED: ({ certificate }) =>
    `TLS: the certificate expired${certificate ? ` ${formatDay(certificate.validTo)}` : ""}. Renew it`,
  CERT_NOT_YET_VALID: ({ certificate }) =>
    `TLS: the certificate is not valid yet${certificate ? `, only from ${formatDay(certificate.validFrom)} on` : ""}. Look at the clocks`,
  DEPTH_ZERO_SELF_SIGNED_CERT: () =>
    "TLS: the certificate is signed by itself. Use one of a public authority, or name its file in DUNLIN_WEBHOOK_CA",
  SELF_SIGNED_CERT_IN_CHAIN: ({ certificate }) =>
    `TLS: the chain ends in an authority that is not trusted here${issuedBy(certificate)}. If it is yours, name its file in DUNLIN_WEBHOOK_CA`,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: ({ certificate }) =>
    `TLS: the authority is unknown, or the endpoint leaves out the intermediate certificates${issuedBy(certificate)}. Let it send the whole chain, or name the authority in DUNLIN_WEBHOOK_CA`,
  UNABLE_TO_GET_ISSUER_CERT: ({ certificate }) =>
    `TLS: the authority is unknown${issuedBy(certificate)}. Let the endpoint send the whole chain`,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: ({ certificate }) =>
    `TLS: the authority is unknown${issuedBy(certificate)}. Let the endpoint send the whole chain, or name the authority in DUNLIN_WEBHOOK_CA`,
  ERR_TLS_CERT_ALTNAME_INVALID: ({ certificate }) =>
    `TLS: the certificate is for another name${certificate ? ` (${certificate.names || certificate.subject})` : ""}`,
  ERR_SSL_WRONG_VERSION_NUMBER: () => "TLS: what answers on this port does not speak TLS. Is it plain HTTP?",
  ERR_SSL_PACKET_LENGTH_TOO_LONG: () => "TLS: what answers on this port does not speak TLS. Is it plain HTTP?",
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: () =>
    "TLS: the endpoint asks for a client certificate. Set DUNLIN_WEBHOOK_CLIENT_CERT and DUNLIN_WEBHOOK_CLIENT_KEY",
  ERR_SSL_TLSV1_ALERT_UNKNOWN_CA: () =>
    "TLS: the endpoint does not trust the authority of our client certificate (DUNLIN_WEBHOOK_CLIENT_CERT)",
  ERR_SSL_UNSUPPORTED_PROTOCOL: () => "TLS: the endpoint knows only versions before 1.2",
  ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: () => "TLS: the endpoint knows only versions before 1.2",
};

const formatDay = (at: Date) => at.toISOString().slice(0, 10);
const issuedBy = (certificate: TraceResult["certificate"]) => (certificate ? ` (${certificate.issuer})` : "");

const STATUS_ADVICE: Record<number, string> = {
  401: "the endpoint refuses the credential. Set the one that it expects: npx dunlin merchant set MERCHANT --bearer-file F or --basic-file F",
  403: "the endpoint knows the credential and forbids the request, or a firewall in front does. Does it allow our addresses?",
  404: "there is nothing at this path. Look at the URL, and at --sub-paths",
  405: "this path takes no POST. Look at the URL",
  410: "the endpoint says that it is gone for good",
  413: "the endpoint finds an event of a few hundred bytes too large",
  415: "the endpoint takes no application/json",
  421: "the server is not responsible for this host name",
  429: "the endpoint is asked too often. Lower --cap, or ask its owner",
};

/** A certificate that ends sooner than this may be forgotten. */
const EXPIRY_WARNING_DAYS = 14;
/** Of 30 seconds. */
const SLOW_REPLY_MS = 5_000;

/**
 * Names what is wrong with an endpoint.
 *
 * @param reply  of the attempt
 * @param seen  what its trace holds
 * @param totalMs  how long the attempt took
 */
export function diagnose(reply: Reply, seen: TraceResult, totalMs: number, realNow: Date): Diagnosis {
  if (reply.outcome === "failed") return { fine: false, problem: describeFailure(reply.error, seen), notes: [] };
  const { status } = reply;
  if (!isSuccess(status)) return { fine: false, problem: describeRefusal(status, seen), notes: [] };
  const notes = [bodyNote(seen), expiryNote(seen, realNow)].filter((note) => note !== null);
  if (totalMs > SLOW_REPLY_MS)
    notes.push(
      `it took ${(totalMs / 1_000).toFixed(1)} s of the 30 s there are: acknowledge first, and work afterwards`,
    );
  return { fine: true, problem: null, notes };
}

function describeFailure(error: string, seen: TraceResult): string {
  if (/not a public address|has no address|is this machine/.test(error)) return `DNS or URL: ${error}`;
  if (error.startsWith("no status line")) return `${error}: ${describeUnfinishedStep(seen)}`;
  const cause = CAUSE_BY_ERROR_CODE[seen.code ?? /\((E[A-Z_]+)\)$/.exec(error)?.[1] ?? ""];
  if (cause) return cause(seen);
  return seen.tlsMs === null && seen.connectMs !== null ? `TLS: ${error}` : error;
}

function describeUnfinishedStep({ lookUpMs, addresses, connectMs, tlsMs, firstByteMs }: TraceResult): string {
  if (lookUpMs === null && addresses.length === 0) return "no name server answered";
  if (connectMs === null) return `no connection to ${addresses.join(", ")}: a firewall may swallow our packets`;
  if (tlsMs === null) return "connected, but TLS was never up: is this an HTTPS port?";
  if (firstByteMs === null)
    return "the request was sent, and not a byte came back: acknowledge first, and work afterwards";
  return "the reply was begun and its status line never finished";
}

function describeRefusal(status: number, { head }: TraceResult): string {
  if (status >= 300 && status < 400) {
    const location = /^location: *(.+?)\r?$/im.exec(head)?.[1];
    return `status ${status}: a redirect${location ? ` to ${location}` : ""}, and redirects are never followed. Set the URL that it leads to`;
  }
  const words =
    STATUS_ADVICE[status] ??
    (status >= 500 ? "the endpoint failed. Look at its log" : "the endpoint refuses the event");
  return `status ${status}: ${words}`;
}

function bodyNote({ body, head }: TraceResult): string | null {
  if (body === "") return null;
  try {
    const parsed: unknown = JSON.parse(body);
    const success = typeof parsed === "object" && parsed !== null && "success" in parsed ? parsed.success : true;
    return success === false ? "the body says success: false, but the status counts, and that says taken" : null;
  } catch {
    const type = /^content-type: *(.+?)\r?$/im.exec(head)?.[1];
    return `the body is not JSON${type ? ` but ${type}` : ""}: is this the endpoint, or a page in front of it?`;
  }
}

function expiryNote({ certificate }: TraceResult, realNow: Date): string | null {
  if (certificate === null) return null;
  const days = Math.floor((certificate.validTo.getTime() - realNow.getTime()) / DAY_MS);
  return days < EXPIRY_WARNING_DAYS
    ? `the certificate expires in ${days} days, on ${formatDay(certificate.validTo)}`
    : null;
}
