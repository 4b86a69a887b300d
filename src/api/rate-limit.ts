/** What a request was told of its limit. */
export interface Allowance {
  allowed: boolean;
  /** Fields of the IETF draft "RateLimit header fields for HTTP", and Retry-After when refused. */
  headers: Record<string, string>;
}

interface Bucket {
  /** Thousandths of tokens: so many flow in per millisecond as tokens per second, which adds up without rounding. */
  level: number;
  /** Monotonic moment at which `level` was right. */
  at: number;
}

const TOKEN = 1000;
const SWEEP_EVERY = 10_000;

/**
 * Token buckets, one per name: `perSecond` tokens flow in, `burst` fit in, each request takes one.
 *
 * @param monotonicMs  milliseconds that never jump
 */
export function createRateLimit(monotonicMs: () => number) {
  const buckets = new Map<string, Bucket>();
  let takes = 0;

  return function take(name: string, perSecond: number, burst: number): Allowance {
    const now = monotonicMs();
    if (++takes % SWEEP_EVERY === 0) sweep(buckets, now);
    const bucket = buckets.get(name) ?? { level: burst * TOKEN, at: now };
    const level = Math.min(burst * TOKEN, bucket.level + (now - bucket.at) * perSecond);
    const allowed = level >= TOKEN;
    const left = allowed ? level - TOKEN : level;
    buckets.set(name, { level: left, at: now });
    return { allowed, headers: headersOf(allowed, left / TOKEN, perSecond, burst) };
  };
}

function headersOf(allowed: boolean, left: number, perSecond: number, burst: number): Record<string, string> {
  const fullInSeconds = Math.ceil((burst - left) / perSecond);
  const headers: Record<string, string> = {
    "ratelimit-policy": `"default";q=${burst};w=${Math.max(1, Math.ceil(burst / perSecond))}`,
    ratelimit: `"default";r=${Math.floor(left)};t=${fullInSeconds}`,
  };
  if (!allowed) headers["retry-after"] = String(Math.max(1, Math.ceil((1 - left) / perSecond)));
  return headers;
}

// A bucket that nobody took from for so long is full again at any limit worth setting: forgetting it changes nothing.
const FORGET_MS = 600_000;

function sweep(buckets: Map<string, Bucket>, now: number) {
  for (const [name, { at }] of buckets) if (now - at > FORGET_MS) buckets.delete(name);
}
