import { hash } from "node:crypto";
import { crc32 } from "node:zlib";

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
export const KEY_PREFIX = "dln_live_";
const SECRET_CHARS = 30;
const CHECKSUM_CHARS = 6; // 62^6 > 2^32
const KEY_PATTERN = new RegExp(`^${KEY_PREFIX}[0-9A-Za-z]{${SECRET_CHARS + CHECKSUM_CHARS}}$`);

/** Returns a new key: prefix, 30 random base62 characters (178 bits), and a checksum that detects typos without the database. */
export function newApiKeyText(randomBytes: (size: number) => Buffer): string {
  let secret = "";
  while (secret.length < SECRET_CHARS)
    // 248 = 4 * 62: higher bytes would favor the first letters
    for (const byte of randomBytes(SECRET_CHARS))
      if (byte < 248 && secret.length < SECRET_CHARS) secret += BASE62[byte % 62];
  return KEY_PREFIX + secret + checksum(KEY_PREFIX + secret);
}

/** Whether the format and the checksum are valid. */
export const isApiKeyText = (text: string) =>
  KEY_PATTERN.test(text) && checksum(text.slice(0, -CHECKSUM_CHARS)) === text.slice(-CHECKSUM_CHARS);

/** Returns the SHA-256, which is stored with the prefix and the last four characters. */
export const hashOfApiKey = (text: string) => hash("sha256", text, "buffer");

function checksum(text: string) {
  let remainder = crc32(text);
  let digits = "";
  for (let count = 0; count < CHECKSUM_CHARS; count++) {
    digits = BASE62[remainder % 62] + digits;
    remainder = Math.floor(remainder / 62);
  }
  return digits;
}
