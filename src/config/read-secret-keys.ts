import type { SecretKeys } from "../tables/secret-box.ts";

/**
 * Reads secret keys, newest first, separated by commas or line breaks.
 *
 * @returns the keys, or why they cannot be used
 */
export function readSecretKeys(text: string): { keys: SecretKeys } | { problem: string } {
  const keys = text.split(/[,\n]/).flatMap((each) => (each.trim() === "" ? [] : Buffer.from(each, "base64")));
  const problem = keys.length === 0 ? "holds no key" : keys.map(findKeyWeakness).find((each) => each !== null);
  return problem ? { problem: `${problem}. Write the output of: openssl rand -base64 32` } : { keys };
}

/** Fewer different bytes than any of a billion random keys has. */
const MIN_DISTINCT_BYTES = 18;

/**
 * Returns why bytes are no key of 32 bytes that nobody guesses, or null.
 *
 * A random key has some 30 different bytes, and bytes that are no text. Words, digits and the examples of documents have not.
 */
export function findKeyWeakness(key: Uint8Array): string | null {
  if (key.length !== 32) return "is not 32 bytes in base64";
  if (key.every((byte) => byte >= 0x20 && byte < 0x7f)) return "is text in base64, which can be guessed";
  return new Set(key).size < MIN_DISTINCT_BYTES ? "repeats a few bytes, so it can be guessed" : null;
}
