import { createHmac, timingSafeEqual } from "node:crypto";

/** The Standard Webhooks libraries' default. */
const TOLERANCE_MS = 300_000;
/** A rotation needs two. Limits a malicious request's work. */
const SIGNATURES_MAX = 16;

export interface SignedRequest {
  /** `whsec_…`; two secrets during a rotation. */
  secrets: string | readonly string[];
  /** From Node or the web. Names are in lower case. */
  headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
  /** As received, because serializing parsed JSON would change the bytes. */
  body: string | Uint8Array;
  /** Real time. Default: now. */
  now?: Date;
  /** How far the timestamp may differ from `now`. Default: five minutes. */
  toleranceMs?: number;
}

/**
 * Verifies a webhook's signature.
 *
 * @returns null if it is valid, or a sentence that describes the problem and does not help to forge one
 * @throws TypeError if a secret is not `whsec_` and 24 to 64 bytes in base64
 * @see https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
export function verifyWebhookSignature(request: SignedRequest): string | null {
  const keys = signingKeys(request.secrets);
  const [id, timestamp, signatures] = ["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) =>
    singleHeader(request.headers, name),
  );
  if (!id || !timestamp || !signatures)
    return "webhook-id, webhook-timestamp and webhook-signature must each appear exactly once";
  if (!/^\d{1,12}$/.test(timestamp)) return "webhook-timestamp must be seconds since 1970";
  const differenceMs = Math.abs(Number(timestamp) * 1_000 - (request.now ?? new Date()).getTime());
  if (differenceMs > (request.toleranceMs ?? TOLERANCE_MS)) return "webhook-timestamp is too far from the current time";
  const candidates = signatures.split(" ").filter((signature) => signature.startsWith("v1,"));
  const expected = keys.map((key) =>
    createHmac("sha256", key).update(`${id}.${timestamp}.`).update(request.body).digest(),
  );
  let isValid = false;
  for (const signature of candidates.slice(0, SIGNATURES_MAX)) {
    const bytes = Buffer.from(signature.slice("v1,".length), "base64");
    // No early exit, so that timing does not reveal which signature matched.
    for (const digest of expected)
      isValid = (bytes.length === digest.length && timingSafeEqual(bytes, digest)) || isValid;
  }
  return isValid ? null : "no signature matches a known secret";
}

/** @throws TypeError if a secret is invalid */
export function signingKeys(secrets: string | readonly string[]): Buffer[] {
  const texts = typeof secrets === "string" ? [secrets] : secrets;
  if (texts.length === 0) throw new TypeError("secrets must hold at least one webhook secret");
  return texts.map((text) => {
    const key = Buffer.from(text.replace(/^whsec_/, ""), "base64");
    // A short key, as from an unset variable, would authenticate everyone.
    if (!text.startsWith("whsec_") || key.length < 24 || key.length > 64)
      throw new TypeError("a webhook secret must be whsec_ followed by 24 to 64 bytes in base64");
    return key;
  });
}

/** null if the header is missing or duplicated. */
function singleHeader(headers: SignedRequest["headers"], name: string): string | null {
  const value = headers instanceof Headers ? headers.get(name) : headers[name];
  const texts = typeof value === "string" ? [value] : (value ?? []);
  // Node and the web join duplicate headers with a comma, which no valid value contains.
  return texts.length === 1 && !/, /.test(texts[0]!) ? texts[0]! : null;
}
