import { hash } from "node:crypto";
import { crc32 } from "node:zlib";

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
export const KEY_PREFIX = "dln_live_";
const SECRET_CHARS = 30;
const CHECKSUM_CHARS = 6; // 62^6 > 2^32
const SHAPE = new RegExp(`^${KEY_PREFIX}[0-9A-Za-z]{${SECRET_CHARS + CHECKSUM_CHARS}}$`);

/** A new key: prefix, 30 random base62 characters (178 bits), and a checksum that tells a typo without asking the database. */
export function newApiKeyText(randomBytes: (size: number) => Buffer): string {
  let secret = "";
  while (secret.length < SECRET_CHARS)
    // 248 = 4 * 62: higher bytes would make the first letters likelier
    for (const byte of randomBytes(SECRET_CHARS))
      if (byte < 248 && secret.length < SECRET_CHARS) secret += BASE62[byte % 62];
  return KEY_PREFIX + secret + checksum(KEY_PREFIX + secret);
}

/** Whether this could be one of our keys: its shape and its checksum are right. */
export const isApiKeyText = (text: string) =>
  SHAPE.test(text) && checksum(text.slice(0, -CHECKSUM_CHARS)) === text.slice(-CHECKSUM_CHARS);

/** SHA-256 of the key: all that is stored of it, besides its prefix and last four characters. */
export const hashOfApiKey = (text: string) => hash("sha256", text, "buffer");

function checksum(text: string) {
  let rest = crc32(text);
  let digits = "";
  for (let count = 0; count < CHECKSUM_CHARS; count++) {
    digits = BASE62[rest % 62] + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}
