/** A reply: one of the two comes when it ends. */
interface ReplyEvents {
  once(event: "finish" | "close", listener: () => void): unknown;
}

/** Requests that are being answered, by key, in this process. */
export interface InFlightRequests {
  /** Counts a request until its reply ends, however it does; false when there are `most` already. */
  enter(keyId: string, most: number, reply: ReplyEvents): boolean;
}

/**
 * As many as a key may send in two seconds, and a few when that is little: with more, its requests take longer than two seconds each, and one more only makes
 * the others of all merchants wait.
 */
export const maxInFlight = (perSecond: number) => Math.max(10, 2 * perSecond);

/** The header of the refusal: a second later some of them have ended. */
export const RETRY_SOON_HEADERS = { "retry-after": "1" };

/** Counts for one process. Keys with nothing under way take no memory. */
export function createInFlightRequests(): InFlightRequests {
  const counts = new Map<string, number>();
  return {
    enter(keyId, most, reply) {
      const count = counts.get(keyId) ?? 0;
      if (count >= most) return false;
      counts.set(keyId, count + 1);
      let ended = false;
      const leave = () => {
        if (ended) return;
        ended = true;
        const left = counts.get(keyId)! - 1;
        if (left === 0) counts.delete(keyId);
        else counts.set(keyId, left);
      };
      // The first when it was sent, the second also when the client went away before.
      reply.once("finish", leave);
      reply.once("close", leave);
      return true;
    },
  };
}
