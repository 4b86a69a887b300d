interface ReplyEvents {
  once(event: "finish" | "close", listener: () => void): unknown;
}

export interface InFlightRequests {
  /** Counts a request until its reply ends. Returns false if the key already has `max` requests. */
  enter(keyId: string, max: number, reply: ReplyEvents): boolean;
}

/** Two seconds' worth of requests, but at least ten. With more, each would take longer than that. */
export const maxInFlight = (perSecond: number) => Math.max(10, 2 * perSecond);

export const RETRY_SOON_HEADERS = { "retry-after": "1" };

/** Creates counters for this process. Idle keys take no memory. */
export function createInFlightRequests(): InFlightRequests {
  const counts = new Map<string, number>();
  return {
    enter(keyId, max, reply) {
      const count = counts.get(keyId) ?? 0;
      if (count >= max) return false;
      counts.set(keyId, count + 1);
      let ended = false;
      const leave = () => {
        if (ended) return;
        ended = true;
        const remaining = counts.get(keyId)! - 1;
        if (remaining === 0) counts.delete(keyId);
        else counts.set(keyId, remaining);
      };
      // "close" is emitted without "finish" if the client disconnects.
      reply.once("finish", leave);
      reply.once("close", leave);
      return true;
    },
  };
}
