/** Ties keep the order of insertion. */
export function createTimeQueue<T>() {
  const heap: { at: number; order: number; value: T }[] = [];
  let pushed = 0;
  const before = (a: number, b: number) =>
    heap[a]!.at < heap[b]!.at || (heap[a]!.at === heap[b]!.at && heap[a]!.order < heap[b]!.order);
  const swap = (a: number, b: number) => {
    [heap[a], heap[b]] = [heap[b]!, heap[a]!];
  };
  return {
    nextAt: () => heap[0]?.at ?? Number.POSITIVE_INFINITY,
    push(at: number, value: T) {
      heap.push({ at, order: pushed++, value });
      for (let n = heap.length - 1; n > 0; ) {
        const parent = (n - 1) >> 1;
        if (before(parent, n)) break;
        swap(parent, n);
        n = parent;
      }
    },
    pop(): T | undefined {
      if (heap.length === 0) return undefined;
      swap(0, heap.length - 1);
      const { value } = heap.pop()!;
      for (let n = 0; ; ) {
        let least = n;
        for (const child of [2 * n + 1, 2 * n + 2]) if (child < heap.length && before(child, least)) least = child;
        if (least === n) return value;
        swap(least, n);
        n = least;
      }
    },
  };
}
