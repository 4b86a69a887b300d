import { hash } from "node:crypto";

const PREFIX = "whsec_";
/** https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md#signature-scheme */
const SECRET_BYTES_MIN = 24;
/** SHA-256's block size. A longer HMAC key would have to be hashed first. */
const BLOCK_BYTES = 64;
const DIGEST_BYTES = 32;
/** Events are far smaller. */
const BODY_BYTES = 16_384;

/** @param bytes  24 to 64 random bytes */
export const formatSecret = (bytes: Buffer) => `${PREFIX}${bytes.toString("base64")}`;

/** During a rotation, the old secret also signs. */
export interface SigningSecrets {
  current: string;
  old: { secret: string; until: Date } | null;
}

/**
 * Returns one attempt's signature fields, alternating name and value.
 *
 * @param realNow  receivers compare it with their clock
 * @param now  service time, decides whether the rotation is over
 */
export type Sign = (eventId: string, body: string, realNow: Date, now: Date) => string[];

/** @throws if a secret is not `whsec_` and 24 to 64 bytes in base64 */
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
    throw new Error(`a webhook secret must be ${PREFIX} followed by 24 to 64 bytes in base64`);
  return key;
}

/**
 * In base64: https://www.rfc-editor.org/rfc/rfc2104. `createHmac`'s object costs more than hashing an event.
 *
 * @param key  at most one block
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
    // A UTF-16 unit takes at most three bytes in UTF-8.
    const fits = text.length * 3 <= BODY_BYTES;
    const innerBlock = fits
      ? inner.subarray(0, BLOCK_BYTES + inner.write(text, BLOCK_BYTES))
      : Buffer.concat([keyBlock, Buffer.from(text)]);
    outer.write(hash("sha256", innerBlock, "latin1"), BLOCK_BYTES, "latin1");
    return hash("sha256", outer, "base64");
  };
}
