import { createHmac, timingSafeEqual } from "node:crypto";

/** Five minutes, as the specification's libraries have it. */
const TOLERANCE_MS = 300_000;
/** Two are usual while a secret is rotated; more than this are somebody's attempt to keep us busy. */
const SIGNATURES_MAX = 16;

export interface SignedRequest {
  /** `whsec_…`; two of them while a rotation lasts. */
  secrets: string | readonly string[];
  /** Of the request, in any of the forms that Node and the web have. Names in lower case. */
  headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
  /** As received: JSON that was parsed and written again is another text. */
  body: string | Uint8Array;
  /** Real time; now unless given. */
  now?: Date;
  /** How far the attempt's time may be from ours; five minutes unless given. */
  toleranceMs?: number;
}

/**
 * Checks the signature of a webhook.
 *
 * @returns null when it is good, else the sentence that says what is wrong; none of them helps to forge one
 * @throws TypeError when a secret is not `whsec_` and 24 to 64 bytes in base64
 * @see https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
export function verifyWebhookSignature(request: SignedRequest): string | null {
  const keys = signingKeys(request.secrets);
  const [id, timestamp, signatures] = ["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) =>
    singleHeader(request.headers, name),
  );
  if (!id || !timestamp || !signatures)
    return "webhook-id, webhook-timestamp and webhook-signature must each be there once";
  if (!/^\d{1,12}$/.test(timestamp)) return "webhook-timestamp must be seconds since 1970";
  const awayMs = Math.abs(Number(timestamp) * 1_000 - (request.now ?? new Date()).getTime());
  if (awayMs > (request.toleranceMs ?? TOLERANCE_MS)) return "webhook-timestamp is too far from the present";
  const given = signatures.split(" ").filter((signature) => signature.startsWith("v1,"));
  const expected = keys.map((key) =>
    createHmac("sha256", key).update(`${id}.${timestamp}.`).update(request.body).digest(),
  );
  let good = false;
  for (const signature of given.slice(0, SIGNATURES_MAX)) {
    const bytes = Buffer.from(signature.slice("v1,".length), "base64");
    // No early end: which of them was right is nobody's business.
    for (const digest of expected) good = (bytes.length === digest.length && timingSafeEqual(bytes, digest)) || good;
  }
  return good ? null : "no signature is by a secret that is known here";
}

/** The keys in these secrets. @throws TypeError when one is no secret */
export function signingKeys(secrets: string | readonly string[]): Buffer[] {
  const texts = typeof secrets === "string" ? [secrets] : secrets;
  if (texts.length === 0) throw new TypeError("there is no webhook secret");
  return texts.map((text) => {
    const key = Buffer.from(text.replace(/^whsec_/, ""), "base64");
    // A short key, which an empty setting gives, would let everybody in.
    if (!text.startsWith("whsec_") || key.length < 24 || key.length > 64)
      throw new TypeError("a webhook secret is whsec_ and 24 to 64 bytes in base64");
    return key;
  });
}

/** The only value of a field; null when it is missing or there twice. */
function singleHeader(headers: SignedRequest["headers"], name: string): string | null {
  const value = headers instanceof Headers ? headers.get(name) : headers[name];
  const texts = typeof value === "string" ? [value] : (value ?? []);
  // Node and the web join what came twice by a comma. An id or a time has none, and of a signature only the first would count.
  return texts.length === 1 && !/, /.test(texts[0]!) ? texts[0]! : null;
}
