export interface InvalidKeyThrottle {
  recordInvalidKey(address: string): void;
  /** Returns for how many seconds unknown keys from this address are refused without a lookup. */
  retryAfterSeconds(address: string): number;
}

/** A misconfigured client may send this many. More looks like guessing. */
const INVALID_KEYS_BURST = 30;
/** Faster than people mistype keys, but too slow for guessing. */
const FORGIVEN_KEYS_PER_SECOND = 0.5;
/** Limits memory to a few megabytes if an attacker has many addresses. */
const ADDRESSES_MAX = 50_000;

interface InvalidKeyCount {
  /** Not yet forgiven at `at`. */
  count: number;
  at: number;
}

export function createInvalidKeyThrottle(monotonicMs: () => number): InvalidKeyThrottle {
  const countsByAddress = new Map<string, InvalidKeyCount>();
  const currentCount = (address: string) => {
    const { count, at } = countsByAddress.get(address) ?? { count: 0, at: 0 };
    return Math.max(0, count - ((monotonicMs() - at) * FORGIVEN_KEYS_PER_SECOND) / 1000);
  };
  return {
    recordInvalidKey(address) {
      const count = Math.min(INVALID_KEYS_BURST, currentCount(address) + 1);
      // Reinserting keeps the map ordered by the last invalid key.
      countsByAddress.delete(address);
      if (countsByAddress.size >= ADDRESSES_MAX) countsByAddress.delete(countsByAddress.keys().next().value!);
      countsByAddress.set(address, { count, at: monotonicMs() });
    },
    retryAfterSeconds(address) {
      const excess = currentCount(address) - (INVALID_KEYS_BURST - 1);
      return excess <= 0 ? 0 : Math.ceil(excess / FORGIVEN_KEYS_PER_SECOND);
    },
  };
}
