import { createHash } from "node:crypto";

const TOKEN_BYTES = 32;
const SHAPE = /^[A-Za-z0-9_-]{43}$/;

/** A new token: 256 bits that nobody can guess. */
export const newToken = (randomBytes: (size: number) => Buffer) => randomBytes(TOKEN_BYTES).toString("base64url");

/** SHA-256 of a token, which is all that is stored of it; null when this cannot be one. */
export const hashOfToken = (token: string) => (SHAPE.test(token) ? createHash("sha256").update(token).digest() : null);
