import { createCipheriv, createDecipheriv } from "node:crypto";

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Keys of 32 bytes, at least one: the first seals, each opens. */
export type SecretKeys = readonly Buffer[];

/** AES-256-GCM: nonce, then tag, then ciphertext. `nonce` is 12 fresh random bytes. */
export function seal([key]: SecretKeys, nonce: Buffer, text: string): Buffer {
  const cipher = createCipheriv("aes-256-gcm", key!, nonce);
  const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]);
}

/** None of the keys sealed it, or the box was changed. */
export class UnreadableSecret extends Error {}

/**
 * Returns the text that was sealed.
 *
 * @throws UnreadableSecret
 */
export function unseal([key, ...others]: SecretKeys, box: Buffer): string {
  try {
    return unsealWithKey(key!, box);
  } catch (cause) {
    if (others.length > 0) return unseal(others, box);
    const said = "the secret key changed, so the webhook credential or signing secret can't be read. Set it again.";
    throw new UnreadableSecret(said, { cause });
  }
}

function unsealWithKey(key: Buffer, box: Buffer): string {
  const decipher = createDecipheriv("aes-256-gcm", key, box.subarray(0, NONCE_BYTES));
  decipher.setAuthTag(box.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
  return decipher.update(box.subarray(NONCE_BYTES + TAG_BYTES), undefined, "utf8") + decipher.final("utf8");
}
