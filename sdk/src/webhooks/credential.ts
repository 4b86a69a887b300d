import { createHash, timingSafeEqual } from "node:crypto";

/** How Dunlin proves to the merchant's endpoint that it is Dunlin: what the merchant gave it during setup. */
export type WebhookCredential = { bearer: string } | { basic: { username: string; password: string } };

/**
 * A check of the `Authorization` field of one request.
 *
 * Both sides are hashed before they are compared, so the time taken tells neither the secret nor its length.
 */
export function createCredentialCheck(credential: WebhookCredential) {
  const scheme = "bearer" in credential ? "bearer" : "basic";
  const secret =
    "bearer" in credential ? credential.bearer : `${credential.basic.username}:${credential.basic.password}`;
  // An empty secret would let everybody in.
  if (secret === "" || secret === ":") throw new TypeError("the webhook credential is empty");
  const expected = digest(Buffer.from(secret));
  return (authorization: string | null) => {
    // Two fields of this name are joined by ", " and have more words: somebody's attempt to be read differently by two programs.
    const given = /^(\S+) +(\S+) *$/.exec(authorization ?? "");
    if (given?.[1]?.toLowerCase() !== scheme) return false;
    return timingSafeEqual(digest(Buffer.from(given[2]!, scheme === "basic" ? "base64" : "utf8")), expected);
  };
}

const digest = (bytes: Buffer) => createHash("sha256").update(bytes).digest();
