import { createHash, timingSafeEqual } from "node:crypto";

/** As set for the endpoint in Dunlin. */
export type WebhookCredential = { bearer: string } | { basic: { username: string; password: string } };

/** Compares hashes, so that timing reveals neither the secret nor its length. */
export function createCredentialCheck(credential: WebhookCredential) {
  const scheme = "bearer" in credential ? "bearer" : "basic";
  const secret =
    "bearer" in credential ? credential.bearer : `${credential.basic.username}:${credential.basic.password}`;
  // An empty secret would authenticate everyone.
  if (secret === "" || secret === ":") throw new TypeError("the webhook credential is empty");
  const expected = digest(Buffer.from(secret));
  return (authorization: string | null) => {
    // Duplicate headers are joined by ", " and do not match: a proxy could read them differently.
    const match = /^(\S+) +(\S+) *$/.exec(authorization ?? "");
    if (match?.[1]?.toLowerCase() !== scheme) return false;
    return timingSafeEqual(digest(Buffer.from(match[2]!, scheme === "basic" ? "base64" : "utf8")), expected);
  };
}

const digest = (bytes: Buffer) => createHash("sha256").update(bytes).digest();
