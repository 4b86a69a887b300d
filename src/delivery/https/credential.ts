import type { WebhookAuth } from "../../domain/merchant.ts";

const REDACTED = "[redacted]";
/** Shorter secrets occur in any text, and redacting them would reveal where. */
const SECRET_LENGTH_MIN = 4;

/** @param secret  a bearer token or "user:password" */
export const authorizationHeader = (auth: WebhookAuth, secret: string) =>
  auth === "bearer" ? `Bearer ${secret}` : `Basic ${Buffer.from(secret, "utf8").toString("base64")}`;

export const maskAuthorization = (field: string) => `${field.split(" ", 1)[0]} ${REDACTED}`;

/** As some languages' JSON writers do. */
const escapeNonAscii = (json: string) =>
  json.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);

const HTML_ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

/**
 * Encodings in which a receiver could echo a credential, longest first, so that redacting a part never leaves the rest of a
 * longer one.
 */
export function credentialSpellings(auth: WebhookAuth, secret: string): string[] {
  const colon = secret.indexOf(":");
  const parts = auth === "basic" && colon >= 0 ? [secret, secret.slice(colon + 1)] : [secret];
  const forms = parts.flatMap((part) => {
    const bytes = Buffer.from(part, "utf8");
    const base64 = bytes.toString("base64");
    const encoded = [base64, base64.replace(/=+$/, ""), bytes.toString("base64url"), bytes.toString("hex")];
    return [part, ...encoded].flatMap((form) => {
      const json = JSON.stringify(form).slice(1, -1);
      const url = encodeURIComponent(form.toWellFormed());
      return [
        form,
        ...[json, escapeNonAscii(json)].flatMap((text) => [text, text.replaceAll("/", "\\/")]),
        ...[url, new URLSearchParams([["", form]]).toString().slice(1)].flatMap((text) => [
          text,
          text.replace(/%../g, (code) => code.toLowerCase()),
        ]),
        form.replace(/[&<>"']/g, (character) => HTML_ENTITIES[character] ?? character),
        form.replaceAll("'", "&#x27;").replaceAll('"', "&#34;"),
        bytes.toString("latin1"),
      ];
    });
  });
  return [...new Set(forms)].filter((form) => form.length >= SECRET_LENGTH_MIN).sort((a, b) => b.length - a.length);
}

/** Also replaces characters that PostgreSQL cannot store. */
export function redactSecrets(text: string, secrets: readonly string[]): string {
  let clean = text;
  for (const secret of secrets) clean = clean.replaceAll(secret, REDACTED);
  for (const secret of secrets) clean = redactCutOffSecret(clean, secret);
  return clean.replaceAll("\u0000", "\ufffd").toWellFormed();
}

/** Only a reply's beginning is kept. */
function redactCutOffSecret(text: string, secret: string): string {
  // A multi-byte character may have been cut in two.
  const end = text.replace(/\ufffd$/, "");
  const last = end.at(-1);
  for (let length = secret.length - 1; length >= SECRET_LENGTH_MIN; length--)
    if (secret[length - 1] === last && end.endsWith(secret.slice(0, length))) return end.slice(0, -length) + REDACTED;
  return text;
}
