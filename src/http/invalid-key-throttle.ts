/** Addresses from which keys come that do not hold. */
export interface InvalidKeyThrottle {
  /** A key from this address was not good. */
  note(address: string): void;
  /** For how many whole seconds keys from this address are not looked up; 0: they are. */
  heldUpSeconds(address: string): number;
}

/** So many wrong keys at once are somebody's mistake. */
const INVALID_KEYS_BURST = 30;
/** More would be guessing. Nobody types wrong keys faster, and a program that does is not hurt by waiting. */
const FORGIVEN_KEYS_PER_SECOND = 0.5;
/** An attacker with many addresses makes us remember no more than so many: some megabytes. */
const ADDRESSES_MAX = 50_000;

interface InvalidKeyCount {
  /** Wrong keys that are not forgiven yet. */
  count: number;
  at: number;
}

/** @param monotonicMs  milliseconds that never jump */
export function createInvalidKeyThrottle(monotonicMs: () => number): InvalidKeyThrottle {
  const notes = new Map<string, InvalidKeyCount>();
  const present = (address: string) => {
    const { count, at } = notes.get(address) ?? { count: 0, at: 0 };
    return Math.max(0, count - ((monotonicMs() - at) * FORGIVEN_KEYS_PER_SECOND) / 1000);
  };
  return {
    note(address) {
      const count = Math.min(INVALID_KEYS_BURST, present(address) + 1);
      // The order of the map is that of the last notes: the first was quiet for longest.
      notes.delete(address);
      if (notes.size >= ADDRESSES_MAX) notes.delete(notes.keys().next().value!);
      notes.set(address, { count, at: monotonicMs() });
    },
    heldUpSeconds(address) {
      const over = present(address) - (INVALID_KEYS_BURST - 1);
      return over <= 0 ? 0 : Math.ceil(over / FORGIVEN_KEYS_PER_SECOND);
    },
  };
}
