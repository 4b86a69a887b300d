import type { WebhookAuth } from "../domain/merchant.ts";

const REDACTED = "[redacted]";
/** Shorter ones appear in any text by chance, and redacting them would say where. */
const SECRET_LENGTH_MIN = 4;

/** The `authorization` field for a bearer token, or for "user:password". */
export const authorization = (auth: WebhookAuth, secret: string) =>
  auth === "bearer" ? `Bearer ${secret}` : `Basic ${Buffer.from(secret, "utf8").toString("base64")}`;

/**
 * Every form in which a receiver could give a credential back to us: as it is, encoded, in parts, in JSON or a URL.
 * Longest first, so that a part never leaves the rest of a whole behind.
 */
export function spellings(auth: WebhookAuth, secret: string): string[] {
  const colon = secret.indexOf(":");
  const parts = auth === "basic" && colon >= 0 ? [secret, secret.slice(colon + 1)] : [secret];
  const forms = parts.flatMap((part) => [
    part,
    Buffer.from(part, "utf8").toString("base64"),
    Buffer.from(part, "utf8").toString("base64").replace(/=+$/, ""),
    Buffer.from(part, "utf8").toString("base64url"),
    JSON.stringify(part).slice(1, -1),
    encodeURIComponent(part.toWellFormed()),
  ]);
  return [...new Set(forms)].filter((form) => form.length >= SECRET_LENGTH_MIN).sort((a, b) => b.length - a.length);
}

/** The text without the secrets, fit for the log: also without what PostgreSQL cannot hold. */
export function redact(text: string, secrets: readonly string[]): string {
  let clean = text;
  for (const secret of secrets) clean = clean.replaceAll(secret, REDACTED);
  for (const secret of secrets) clean = withoutBeginning(clean, secret);
  return clean.replaceAll("\u0000", "\ufffd").toWellFormed();
}

/** Only the beginning of a reply is kept, and the cut may go through a secret. */
function withoutBeginning(text: string, secret: string): string {
  for (let length = secret.length - 1; length >= SECRET_LENGTH_MIN; length--)
    if (text.endsWith(secret.slice(0, length))) return text.slice(0, -length) + REDACTED;
  return text;
}
