import type { Ports } from "../domain/ports.ts";
import type { Database } from "../postgres/database.ts";
import { type TokenRequest, takeTokens } from "../tables/rate-buckets.ts";

/** What a request was told of its limit. */
export interface RateLimitDecision {
  allowed: boolean;
  /** Fields of the IETF draft "RateLimit header fields for HTTP", and Retry-After when refused. */
  headers: Record<string, string>;
}

/** The limit of a key: `perSecond` requests flow into its bucket, `burst` fit in. */
export interface KeyLimit {
  merchantId: string;
  keyId: string;
  perSecond: number;
  burst: number;
}

export interface RateLimit {
  /** Let a request in, or not. It waits for the database only when nothing was taken ahead. */
  take(limit: KeyLimit): Promise<RateLimitDecision>;
  /** Give back what was taken ahead and is not needed. Call it every second or so. */
  settle(): Promise<void>;
  /** Give back everything. */
  close(): Promise<void>;
}

/** What this process took ahead of the bucket that all processes share. */
interface PrefetchedTokens {
  limit: KeyLimit;
  /** Requests that may pass. */
  held: number;
  /** Requests that passed, and since when. */
  passed: number;
  since: number;
  /** Requests that wait for an answer. */
  waiting: number;
  /** What the bucket held when it was last asked, and when that was. */
  leftOver: number;
  at: number;
  /** The bucket is empty: it has nothing to give before this moment. */
  emptyUntil: number;
}

/** So much of a burst may lie with a process that does not need it, for a second: all others miss it. */
const PREFETCHED_BURST_SHARE = 0.05;
/** For so long a process takes ahead what it needs at its present rate. */
const PREFETCH_MS = 100;
/** An empty bucket is not asked more often than this by one process, whatever the rate. */
const EMPTY_BUCKET_RETRY_MS = 20;
const ALMOST_ONE = 0.999;

/**
 * Token buckets in the database, one per key, exact over all processes: a request that passes was taken out of the bucket before. Each process takes
 * some ahead by one statement for all keys, as many as it needs in a tenth of a second, so that few requests wait for one.
 */
export function createRateLimit(db: Database, ports: Pick<Ports, "realNow" | "monotonicMs">): RateLimit {
  const purses = new Map<string, PrefetchedTokens>();
  let asking: Promise<void> | undefined;

  async function take(limit: KeyLimit): Promise<RateLimitDecision> {
    const purse = purseOf(limit);
    const allowed = purse.held > purse.waiting ? pass(purse) : await waitFor(purse);
    // Ahead of need. Who needs it and finds nothing gets the error.
    if (allowed && purse.held < ahead(purse) / 2 && !isEmpty(purse)) ask().catch(() => {});
    // What seems to be in the bucket, another process may have taken.
    const left = allowed ? present(purse) : Math.min(present(purse), ALMOST_ONE);
    return { allowed, headers: rateLimitHeaders(allowed, left, limit) };
  }

  function pass(purse: PrefetchedTokens): boolean {
    if (purse.held < 1) return false;
    purse.held--;
    purse.passed++;
    return true;
  }

  /** Whether it may pass: once something is held, or not, once the bucket is known to be empty. */
  async function waitFor(purse: PrefetchedTokens): Promise<boolean> {
    purse.waiting++;
    try {
      while (!pass(purse)) {
        if (isEmpty(purse)) return false;
        await ask();
      }
      return true;
    } finally {
      purse.waiting--;
    }
  }

  const isEmpty = ({ emptyUntil }: PrefetchedTokens) => ports.monotonicMs() < emptyUntil;

  function purseOf(limit: KeyLimit): PrefetchedTokens {
    const now = ports.monotonicMs();
    const known = purses.get(limit.keyId);
    if (known) {
      known.limit = limit;
      return known;
    }
    const { burst } = limit;
    const purse = { limit, held: 0, passed: 0, since: now, waiting: 0, leftOver: burst, at: now, emptyUntil: now };
    purses.set(limit.keyId, purse);
    return purse;
  }

  /** What is taken ahead at the present rate. */
  function ahead({ limit, passed, since }: PrefetchedTokens): number {
    const perMs = passed / Math.max(PREFETCH_MS, ports.monotonicMs() - since);
    return Math.min(Math.ceil(perMs * PREFETCH_MS), Math.floor(limit.burst * PREFETCHED_BURST_SHARE));
  }

  /** What may pass right now, in whole and parts: held here, and by now in the bucket. */
  function present({ limit, held, leftOver, at }: PrefetchedTokens): number {
    const refilled = leftOver + ((ports.monotonicMs() - at) * limit.perSecond) / 1000;
    return Math.min(limit.burst, held + refilled);
  }

  /** One statement at a time; who comes while one is under way looks again after it. */
  function ask(): Promise<void> {
    if (asking) return asking.catch(() => {});
    return exchange(askOf);
  }

  const askOf = (purse: PrefetchedTokens) =>
    isEmpty(purse) ? 0 : Math.max(0, purse.waiting + ahead(purse) - purse.held);

  /** @param of  how many more a purse wants; below zero: gives back */
  function exchange(of: (purse: PrefetchedTokens) => number): Promise<void> {
    const asks: TokenRequest[] = [];
    for (const purse of purses.values()) {
      const requested = of(purse);
      if (requested < 0) purse.held += requested;
      if (requested !== 0) asks.push({ ...purse.limit, requested });
    }
    if (asks.length === 0) return Promise.resolve();
    asking = settleAsks(asks.sort(compareRequests)).finally(() => {
      asking = undefined;
    });
    return asking;
  }

  async function settleAsks(asks: readonly TokenRequest[]) {
    const granted = new Map((await takeTokens(db, asks, ports.realNow())).map((each) => [each.keyId, each]));
    const now = ports.monotonicMs();
    for (const { keyId, requested } of asks) {
      const purse = purses.get(keyId);
      const got = granted.get(keyId);
      if (!purse || !got) continue;
      purse.leftOver = got.remaining;
      purse.at = now;
      if (requested <= 0) continue;
      purse.held += got.granted;
      const nextMs = ((1 - got.remaining) * 1000) / purse.limit.perSecond;
      if (got.granted < requested) purse.emptyUntil = now + Math.max(EMPTY_BUCKET_RETRY_MS, nextMs);
    }
  }

  async function settle() {
    await asking?.catch(() => {});
    const now = ports.monotonicMs();
    const spare = new Map([...purses.values()].map((purse) => [purse, Math.min(0, ahead(purse) - purse.held)]));
    for (const purse of purses.values()) {
      if (purse.passed + purse.held + purse.waiting === 0 && !isEmpty(purse)) purses.delete(purse.limit.keyId);
      purse.passed = 0;
      purse.since = now;
    }
    await exchange((purse) => (purse.waiting > 0 ? 0 : (spare.get(purse) ?? 0)));
  }

  async function close() {
    await asking?.catch(() => {});
    await exchange(({ held }) => -held);
  }

  return { take, settle, close };
}

const compareRequests = (a: TokenRequest, b: TokenRequest) =>
  a.merchantId < b.merchantId || (a.merchantId === b.merchantId && a.keyId < b.keyId) ? -1 : 1;

function rateLimitHeaders(allowed: boolean, left: number, { perSecond, burst }: KeyLimit): Record<string, string> {
  const fullInSeconds = Math.ceil((burst - left) / perSecond);
  const headers: Record<string, string> = {
    "ratelimit-policy": `"default";q=${burst};w=${Math.max(1, Math.ceil(burst / perSecond))}`,
    ratelimit: `"default";r=${Math.floor(left)};t=${fullInSeconds}`,
  };
  if (!allowed) headers["retry-after"] = String(Math.max(1, Math.ceil((1 - left) / perSecond)));
  return headers;
}
