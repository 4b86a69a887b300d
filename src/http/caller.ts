import type { FastifyReply, FastifyRequest } from "fastify";
import type { Caller, Keyring } from "../auth/keyring.ts";
import type { Permission } from "../domain/permission.ts";
import type { Span } from "../tracing/tracing.ts";
import { ApiError } from "./errors.ts";
import { type InFlightRequests, maxInFlight, RETRY_SOON_HEADERS } from "./in-flight.ts";
import type { InvalidKeyThrottle } from "./invalid-key-throttle.ts";
import type { RateLimit } from "./rate-limit.ts";
import { startRequestSpan } from "./request-span.ts";

declare module "fastify" {
  interface FastifyRequest {
    caller: Caller | null;
    /** Of an operation; null until its caller is known. */
    span: Span | null;
  }
}

const BEARER = /^Bearer +([^\s]+) *$/i;
const UNAUTHORIZED = { headers: { "www-authenticate": 'Bearer realm="dunlin"' } };

export interface CallerChecks {
  keyring: Keyring;
  rateLimit: RateLimit;
  invalidKeyThrottle: InvalidKeyThrottle;
  inFlight: InFlightRequests;
  /** Null if the network is unknown. */
  networkOf(request: FastifyRequest): string | null;
}

/** Returns a hook that checks for 401, 429 and 403 in this order, before the body is read. */
export function requirePermission(permission: Permission, checks: CallerChecks) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const caller = await authenticateCaller(request, checks);
    request.caller = caller;
    startRequestSpan(request, caller);
    const { id: keyId, merchantId } = caller.key;
    const { ratePerSecond: perSecond, rateBurst: burst } = caller.merchant;
    const { allowed, headers } = await checks.rateLimit.take({ merchantId, keyId, perSecond, burst });
    reply.headers(headers);
    if (!allowed) throw new ApiError(429, `rate limit of ${perSecond} requests per second exceeded`);
    // After the rate limit, so that forbidden requests count too.
    if (!caller.key.permissions.includes(permission))
      throw new ApiError(403, `the API key lacks the permission ${permission}`);
    const max = maxInFlight(perSecond);
    if (!checks.inFlight.enter(keyId, max, reply.raw))
      throw new ApiError(429, `more than ${max} requests with this key are in flight`, { headers: RETRY_SOON_HEADERS });
  };
}

async function authenticateCaller(
  request: FastifyRequest,
  { keyring, invalidKeyThrottle, networkOf }: CallerChecks,
): Promise<Caller> {
  const { authorization } = request.headers;
  if (authorization === undefined)
    throw new ApiError(401, "the header Authorization: Bearer <API_KEY> is missing", UNAUTHORIZED);
  const apiKey = BEARER.exec(authorization)?.[1];
  if (apiKey === undefined) throw new ApiError(401, "the Authorization header must be: Bearer <API_KEY>", UNAUTHORIZED);
  const network = networkOf(request);
  const waitSeconds = network === null ? 0 : invalidKeyThrottle.retryAfterSeconds(network);
  const refuse = () => {
    throw new ApiError(429, "too many invalid API keys from this address", {
      headers: { "retry-after": String(waitSeconds) },
    });
  };
  // While an address is throttled, a right guess looks like a wrong one. A key that was valid before is no guess.
  if (waitSeconds > 0 && !keyring.hasFound(apiKey)) refuse();
  const caller = await keyring.find(apiKey);
  if (caller) return caller;
  // The key was valid before, but no longer is.
  if (waitSeconds > 0) refuse();
  if (network !== null) invalidKeyThrottle.recordInvalidKey(network);
  // One answer for unknown, revoked and expired keys, so that guessing reveals nothing.
  throw new ApiError(401, "the API key is not valid", UNAUTHORIZED);
}
