import type { Ports } from "../domain/ports.ts";
import type { Database } from "../postgres/database.ts";
import { type TokenRequest, takeTokens } from "../tables/rate-buckets.ts";

export interface RateLimitDecision {
  allowed: boolean;
  /** Headers of the IETF draft "RateLimit header fields for HTTP", and Retry-After. */
  headers: Record<string, string>;
}

/** A token bucket that refills at `perSecond`, up to `burst`. */
export interface KeyLimit {
  merchantId: string;
  keyId: string;
  perSecond: number;
  burst: number;
}

export interface RateLimit {
  /** Takes a token. Waits for the database only if no prefetched token is left. */
  take(limit: KeyLimit): Promise<RateLimitDecision>;
  /** Gives unneeded tokens back to the bucket. Call it about once per second. */
  settle(): Promise<void>;
  close(): Promise<void>;
}

/** Tokens that this process took in advance from the shared bucket. */
interface PrefetchedTokens {
  limit: KeyLimit;
  available: number;
  admitted: number;
  countedSince: number;
  waiting: number;
  /** Tokens in the shared bucket at `bucketReadAt`. */
  bucketTokens: number;
  bucketReadAt: number;
  emptyUntil: number;
}

/** Maximum fraction of a burst to prefetch. Other processes cannot use these tokens for up to a second. */
const PREFETCHED_BURST_SHARE = 0.05;
/** Tokens are prefetched for this time at the current rate. */
const PREFETCH_MS = 100;
/** Minimum interval between requests to an empty bucket. */
const EMPTY_BUCKET_RETRY_MS = 20;
const ALMOST_ONE = 0.999;

/**
 * Creates rate limits that are exact across all processes: the buckets are in the database. One statement prefetches tokens for all
 * keys, so few requests wait.
 */
export function createRateLimit(db: Database, ports: Pick<Ports, "realNow" | "monotonicMs">): RateLimit {
  const tokensByKey = new Map<string, PrefetchedTokens>();
  let ongoing: Promise<void> | undefined;

  async function take(limit: KeyLimit): Promise<RateLimitDecision> {
    const tokens = tokensOf(limit);
    const allowed = tokens.available > tokens.waiting ? admit(tokens) : await waitForToken(tokens);
    // If prefetching fails, the first request that needs a token reports the error.
    if (allowed && tokens.available < prefetchTarget(tokens) / 2 && !isEmpty(tokens)) prefetch().catch(() => {});
    // After a refusal, another process may have taken the estimated token.
    const remaining = allowed ? estimateRemaining(tokens) : Math.min(estimateRemaining(tokens), ALMOST_ONE);
    return { allowed, headers: rateLimitHeaders(allowed, remaining, limit) };
  }

  function admit(tokens: PrefetchedTokens): boolean {
    if (tokens.available < 1) return false;
    tokens.available--;
    tokens.admitted++;
    return true;
  }

  /** Resolves to false if the bucket is empty. */
  async function waitForToken(tokens: PrefetchedTokens): Promise<boolean> {
    tokens.waiting++;
    try {
      while (!admit(tokens)) {
        if (isEmpty(tokens)) return false;
        await prefetch();
      }
      return true;
    } finally {
      tokens.waiting--;
    }
  }

  const isEmpty = ({ emptyUntil }: PrefetchedTokens) => ports.monotonicMs() < emptyUntil;

  function tokensOf(limit: KeyLimit): PrefetchedTokens {
    const now = ports.monotonicMs();
    const existing = tokensByKey.get(limit.keyId);
    if (existing) {
      existing.limit = limit;
      return existing;
    }
    const tokens: PrefetchedTokens = {
      limit,
      available: 0,
      admitted: 0,
      countedSince: now,
      waiting: 0,
      bucketTokens: limit.burst,
      bucketReadAt: now,
      emptyUntil: now,
    };
    tokensByKey.set(limit.keyId, tokens);
    return tokens;
  }

  function prefetchTarget({ limit, admitted, countedSince }: PrefetchedTokens): number {
    const perMs = admitted / Math.max(PREFETCH_MS, ports.monotonicMs() - countedSince);
    return Math.min(Math.ceil(perMs * PREFETCH_MS), Math.floor(limit.burst * PREFETCHED_BURST_SHARE));
  }

  /** Returns the usable tokens as a fraction: prefetched ones, and an estimate of the bucket. */
  function estimateRemaining({ limit, available, bucketTokens, bucketReadAt }: PrefetchedTokens): number {
    const refilled = bucketTokens + ((ports.monotonicMs() - bucketReadAt) * limit.perSecond) / 1000;
    return Math.min(limit.burst, available + refilled);
  }

  /** Runs one statement at a time. Later callers wait for it, and check again. */
  function prefetch(): Promise<void> {
    if (ongoing) return ongoing.catch(() => {});
    return exchange(neededTokens);
  }

  const neededTokens = (tokens: PrefetchedTokens) =>
    isEmpty(tokens) ? 0 : Math.max(0, tokens.waiting + prefetchTarget(tokens) - tokens.available);

  /** @param changeOf  tokens to take for a key; a negative number returns tokens */
  function exchange(changeOf: (tokens: PrefetchedTokens) => number): Promise<void> {
    const requests: TokenRequest[] = [];
    for (const tokens of tokensByKey.values()) {
      const requested = changeOf(tokens);
      if (requested < 0) tokens.available += requested;
      if (requested !== 0) requests.push({ ...tokens.limit, requested });
    }
    if (requests.length === 0) return Promise.resolve();
    ongoing = runExchange(requests.sort(compareRequests)).finally(() => {
      ongoing = undefined;
    });
    return ongoing;
  }

  async function runExchange(requests: readonly TokenRequest[]) {
    const grants = new Map((await takeTokens(db, requests, ports.realNow())).map((each) => [each.keyId, each]));
    const now = ports.monotonicMs();
    for (const { keyId, requested } of requests) {
      const tokens = tokensByKey.get(keyId);
      const grant = grants.get(keyId);
      if (!tokens || !grant) continue;
      tokens.bucketTokens = grant.remaining;
      tokens.bucketReadAt = now;
      if (requested <= 0) continue;
      tokens.available += grant.granted;
      const nextMs = ((1 - grant.remaining) * 1000) / tokens.limit.perSecond;
      if (grant.granted < requested) tokens.emptyUntil = now + Math.max(EMPTY_BUCKET_RETRY_MS, nextMs);
    }
  }

  async function settle() {
    await ongoing?.catch(() => {});
    const now = ports.monotonicMs();
    const surplus = new Map(
      [...tokensByKey.values()].map((tokens) => [tokens, Math.min(0, prefetchTarget(tokens) - tokens.available)]),
    );
    for (const tokens of tokensByKey.values()) {
      const isIdle = tokens.admitted + tokens.available + tokens.waiting === 0;
      if (isIdle && !isEmpty(tokens)) tokensByKey.delete(tokens.limit.keyId);
      tokens.admitted = 0;
      tokens.countedSince = now;
    }
    await exchange((tokens) => (tokens.waiting > 0 ? 0 : (surplus.get(tokens) ?? 0)));
  }

  async function close() {
    await ongoing?.catch(() => {});
    await exchange(({ available }) => -available);
  }

  return { take, settle, close };
}

const compareRequests = (a: TokenRequest, b: TokenRequest) =>
  a.merchantId < b.merchantId || (a.merchantId === b.merchantId && a.keyId < b.keyId) ? -1 : 1;

function rateLimitHeaders(allowed: boolean, remaining: number, { perSecond, burst }: KeyLimit): Record<string, string> {
  const fullInSeconds = Math.ceil((burst - remaining) / perSecond);
  const headers: Record<string, string> = {
    "ratelimit-policy": `"default";q=${burst};w=${Math.max(1, Math.ceil(burst / perSecond))}`,
    ratelimit: `"default";r=${Math.floor(remaining)};t=${fullInSeconds}`,
  };
  if (!allowed) headers["retry-after"] = String(Math.max(1, Math.ceil((1 - remaining) / perSecond)));
  return headers;
}
