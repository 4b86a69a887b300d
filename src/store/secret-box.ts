import { createCipheriv, createDecipheriv } from "node:crypto";

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** AES-256-GCM: nonce, then tag, then ciphertext. `key` is 32 bytes; `nonce` 12 fresh random bytes. */
export function seal(key: Buffer, nonce: Buffer, text: string): Buffer {
  const cipher = createCipheriv("aes-256-gcm", key, nonce);
  const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]);
}

/** The text that was sealed. Throws when the key is another one or the box was changed. */
export function unseal(key: Buffer, box: Buffer): string {
  const decipher = createDecipheriv("aes-256-gcm", key, box.subarray(0, NONCE_BYTES));
  decipher.setAuthTag(box.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
  return decipher.update(box.subarray(NONCE_BYTES + TAG_BYTES), undefined, "utf8") + decipher.final("utf8");
}
