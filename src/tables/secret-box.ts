import { createCipheriv, createDecipheriv } from "node:crypto";

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** 32 bytes each. The first one encrypts, and each can decrypt. */
export type SecretKeys = readonly Buffer[];

/**
 * AES-256-GCM: nonce, tag, ciphertext.
 *
 * @param nonce  12 new random bytes
 */
export function seal([key]: SecretKeys, nonce: Buffer, text: string): Buffer {
  const cipher = createCipheriv("aes-256-gcm", key!, nonce);
  const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]);
}

/** Encrypted by no key, or changed. */
export class UnreadableSecret extends Error {}

/** @throws UnreadableSecret */
export function unseal([key, ...others]: SecretKeys, box: Buffer): string {
  try {
    return unsealWithKey(key!, box);
  } catch (cause) {
    if (others.length > 0) return unseal(others, box);
    const message = "the secret key changed, so the webhook credential or signing secret can't be read. Set it again.";
    throw new UnreadableSecret(message, { cause });
  }
}

function unsealWithKey(key: Buffer, box: Buffer): string {
  const decipher = createDecipheriv("aes-256-gcm", key, box.subarray(0, NONCE_BYTES));
  decipher.setAuthTag(box.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
  return decipher.update(box.subarray(NONCE_BYTES + TAG_BYTES), undefined, "utf8") + decipher.final("utf8");
}
