import type { SecretKeys } from "../tables/secret-box.ts";

/** Newest first, separated by commas or line breaks. */
export function readSecretKeys(text: string): { keys: SecretKeys } | { problem: string } {
  const keys = text.split(/[,\n]/).flatMap((each) => (each.trim() === "" ? [] : Buffer.from(each, "base64")));
  const problem = keys.length === 0 ? "holds no key" : keys.map(findKeyWeakness).find((each) => each !== null);
  return problem ? { problem: `${problem}. Write the output of: openssl rand -base64 32` } : { keys };
}

/** A billion random keys all have more. */
const MIN_DISTINCT_BYTES = 18;

/** Random keys have about 30 different bytes, some of which are not text. Words, digits and sample keys do not. */
export function findKeyWeakness(key: Uint8Array): string | null {
  if (key.length !== 32) return "is not 32 bytes in base64";
  if (key.every((byte) => byte >= 0x20 && byte < 0x7f)) return "is text in base64, which can be guessed";
  return new Set(key).size < MIN_DISTINCT_BYTES ? "repeats a few bytes, so it can be guessed" : null;
}
