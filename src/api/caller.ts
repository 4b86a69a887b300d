import type { FastifyReply, FastifyRequest } from "fastify";
import type { Caller, Keyring } from "../auth/keyring.ts";
import type { Permission } from "../domain/permission.ts";
import { ApiError } from "./errors.ts";
import type { createRateLimit } from "./rate-limit.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Set once the key was checked; null on operations without a key. */
    caller: Caller | null;
  }
}

const BEARER = /^Bearer +([^\s]+) *$/i;
const UNAUTHORIZED = { headers: { "www-authenticate": 'Bearer realm="dunlin"' } };

/** A hook for operations that need a key with this permission: 401, then 403, then 429, before anything of the body is read. */
export function requires(permission: Permission, keyring: Keyring, take: ReturnType<typeof createRateLimit>) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const { authorization } = request.headers;
    if (authorization === undefined)
      throw new ApiError(401, "the header Authorization: Bearer <API_KEY> is missing", UNAUTHORIZED);
    const apiKey = BEARER.exec(authorization)?.[1];
    if (apiKey === undefined)
      throw new ApiError(401, "the Authorization header must be: Bearer <API_KEY>", UNAUTHORIZED);
    const caller = await keyring.find(apiKey);
    // One answer for unknown, revoked and expired: whoever guesses learns nothing.
    if (!caller) throw new ApiError(401, "the API key is not valid", UNAUTHORIZED);
    request.caller = caller;
    if (!caller.key.permissions.includes(permission))
      throw new ApiError(403, `the API key lacks the permission ${permission}`);
    const { ratePerSecond, rateBurst } = caller.merchant;
    const { allowed, headers } = take(caller.key.id, ratePerSecond, rateBurst);
    reply.headers(headers);
    if (!allowed) throw new ApiError(429, `rate limit of ${ratePerSecond} requests per second exceeded`);
  };
}
