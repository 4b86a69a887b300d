import { createHash } from "node:crypto";

const TOKEN_BYTES = 32;
const TOKEN_PATTERN = /^[A-Za-z0-9_-]{43}$/;

/** Returns 256 random bits. */
export const newToken = (randomBytes: (size: number) => Buffer) => randomBytes(TOKEN_BYTES).toString("base64url");

/** Returns the SHA-256 of a token, which is all that is stored, or null if the text cannot be a token. */
export const hashOfToken = (token: string) =>
  TOKEN_PATTERN.test(token) ? createHash("sha256").update(token).digest() : null;
