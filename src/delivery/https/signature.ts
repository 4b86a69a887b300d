import { hash } from "node:crypto";

const PREFIX = "whsec_";
/** https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md#signature-scheme */
const SECRET_BYTES_MIN = 24;
/** A block of SHA-256: a longer HMAC key would be hashed first, and the specification knows none. */
const BLOCK_BYTES = 64;
const DIGEST_BYTES = 32;
/** Events are far smaller. */
const BODY_BYTES = 16_384;

/** A new secret as a merchant sees it: `whsec_` and base64. `bytes`: 24 to 64 that nobody can predict. */
export const formatSecret = (bytes: Buffer) => `${PREFIX}${bytes.toString("base64")}`;

/** What signs, until when. Null: no rotation is under way. */
export interface SigningSecrets {
  current: string;
  old: { secret: string; until: Date } | null;
}

/**
 * The signature fields of one attempt, name and value in turn.
 *
 * @param eventId  the same on every attempt
 * @param realNow  receivers compare it with their own clock, so it is no service time
 * @param now  service time, in which the end of a rotation is stored
 */
export type Sign = (eventId: string, body: string, realNow: Date, now: Date) => string[];

/** @throws when a secret is not `whsec_` and 24 to 64 bytes in base64 */
export function createSigner({ current, old }: SigningSecrets): Sign {
  const byCurrent = createHmacSha256(parseSecretKey(current));
  const byOld = old === null ? null : { hmac: createHmacSha256(parseSecretKey(old.secret)), until: old.until };
  return (eventId, body, realNow, now) => {
    const seconds = String(Math.floor(realNow.getTime() / 1_000));
    const signed = `${eventId}.${seconds}.${body}`;
    const first = `v1,${byCurrent(signed)}`;
    const all = byOld !== null && now < byOld.until ? `${first} v1,${byOld.hmac(signed)}` : first;
    return ["webhook-id", eventId, "webhook-timestamp", seconds, "webhook-signature", all];
  };
}

function parseSecretKey(secret: string): Buffer {
  const key = Buffer.from(secret.slice(PREFIX.length), "base64");
  if (!secret.startsWith(PREFIX) || key.length < SECRET_BYTES_MIN || key.length > BLOCK_BYTES)
    throw new Error(`a webhook secret is ${PREFIX} and 24 to 64 bytes in base64`);
  return key;
}

/**
 * HMAC-SHA256 of a text, in base64: https://www.rfc-editor.org/rfc/rfc2104. Two calls of `hash` take 60 % of the time of
 * `createHmac`, whose object costs more than the hashing of an event.
 *
 * @param key  of at most one block
 */
function createHmacSha256(key: Buffer): (text: string) => string {
  const inner = Buffer.alloc(BLOCK_BYTES + BODY_BYTES, 0x36);
  const outer = Buffer.alloc(BLOCK_BYTES + DIGEST_BYTES, 0x5c);
  for (const [index, byte] of key.entries()) {
    inner[index] = byte ^ 0x36;
    outer[index] = byte ^ 0x5c;
  }
  const keyBlock = Buffer.from(inner.subarray(0, BLOCK_BYTES));
  return (text) => {
    // In UTF-8 a unit of a text takes three bytes at most.
    const fits = text.length * 3 <= BODY_BYTES;
    const whole = fits
      ? inner.subarray(0, BLOCK_BYTES + inner.write(text, BLOCK_BYTES))
      : Buffer.concat([keyBlock, Buffer.from(text)]);
    outer.write(hash("sha256", whole, "latin1"), BLOCK_BYTES, "latin1");
    return hash("sha256", outer, "base64");
  };
}
