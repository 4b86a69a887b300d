import type { FastifyReply, FastifyRequest } from "fastify";
import type { Caller, Keyring } from "../auth/keyring.ts";
import type { Permission } from "../domain/permission.ts";
import { ApiError } from "./errors.ts";
import { type InFlightRequests, maxInFlight, RETRY_SOON_HEADERS } from "./in-flight.ts";
import type { InvalidKeyThrottle } from "./invalid-key-throttle.ts";
import type { RateLimit } from "./rate-limit.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Set once the key was checked; null on operations without a key. */
    caller: Caller | null;
  }
}

const BEARER = /^Bearer +([^\s]+) *$/i;
const UNAUTHORIZED = { headers: { "www-authenticate": 'Bearer realm="dunlin"' } };

/** What stands between a request and its operation. */
export interface CallerChecks {
  keyring: Keyring;
  rateLimit: RateLimit;
  strangers: InvalidKeyThrottle;
  inFlight: InFlightRequests;
  /** The network that a request comes from; null: it can't be told. */
  networkOf(request: FastifyRequest): string | null;
}

/** A hook for operations that need a key with this permission: 401, then 429, then 403, before anything of the body is read. */
export function requirePermission(permission: Permission, door: CallerChecks) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const caller = await authenticateCaller(request, door);
    request.caller = caller;
    const { id: keyId, merchantId } = caller.key;
    const { ratePerSecond: perSecond, rateBurst: burst } = caller.merchant;
    const { allowed, headers } = await door.rateLimit.take({ merchantId, keyId, perSecond, burst });
    reply.headers(headers);
    if (!allowed) throw new ApiError(429, `rate limit of ${perSecond} requests per second exceeded`);
    // Behind the limit: who asks for what it may not have counts as everybody else.
    if (!caller.key.permissions.includes(permission))
      throw new ApiError(403, `the API key lacks the permission ${permission}`);
    const most = maxInFlight(perSecond);
    if (!door.inFlight.enter(keyId, most, reply.raw))
      throw new ApiError(429, `more than ${most} requests of this key at once`, { headers: RETRY_SOON_HEADERS });
  };
}

async function authenticateCaller(
  request: FastifyRequest,
  { keyring, strangers, networkOf }: CallerChecks,
): Promise<Caller> {
  const { authorization } = request.headers;
  if (authorization === undefined)
    throw new ApiError(401, "the header Authorization: Bearer <API_KEY> is missing", UNAUTHORIZED);
  const apiKey = BEARER.exec(authorization)?.[1];
  if (apiKey === undefined) throw new ApiError(401, "the Authorization header must be: Bearer <API_KEY>", UNAUTHORIZED);
  const network = networkOf(request);
  const waitSeconds = network === null ? 0 : strangers.heldUpSeconds(network);
  const refuse = () => {
    throw new ApiError(429, "too many API keys from this address are not valid", {
      headers: { "retry-after": String(waitSeconds) },
    });
  };
  // Whoever guesses is not told whether the guess is right. A key that was right before is no guess.
  if (waitSeconds > 0 && !keyring.hasFound(apiKey)) refuse();
  const caller = await keyring.find(apiKey);
  if (caller) return caller;
  // It was right once, and is not any more.
  if (waitSeconds > 0) refuse();
  if (network !== null) strangers.note(network);
  // One answer for unknown, revoked and expired: whoever guesses learns nothing.
  throw new ApiError(401, "the API key is not valid", UNAUTHORIZED);
}
