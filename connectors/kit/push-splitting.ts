import { DunlinError } from "./sdk.ts";

export interface PushFailure<T> {
  item: T;
  error: unknown;
}

/** Whether Dunlin refuses what was pushed, so that repeating it changes nothing. */
export const isRefusal = (error: unknown): boolean => error instanceof DunlinError && error.code === 400;

/**
 * Pushes items together. Dunlin refuses a batch as a whole, so a refused batch is halved until the refused items are alone.
 *
 * @returns the items that were not pushed
 */
export async function pushSplitting<T>(
  items: readonly T[],
  push: (items: readonly T[]) => Promise<unknown>,
): Promise<PushFailure<T>[]> {
  if (items.length === 0) return [];
  try {
    await push(items);
    return [];
  } catch (error) {
    if (items.length === 1 || !isRefusal(error)) return items.map((item) => ({ item, error }));
    const middle = items.length >>> 1;
    return [
      ...(await pushSplitting(items.slice(0, middle), push)),
      ...(await pushSplitting(items.slice(middle), push)),
    ];
  }
}
