import { createDeadlines } from "./https/deadlines.ts";
import { hasFreeSlot, type Lane } from "./merchant-lane.ts";

/**
 * All attempts on the wire. What merchants share, so that none of them can take it from the others. Lanes whose last attempt was
 * quick and the others, new or slow, have slots of their own: a thousand dead endpoints crowd each other, and nobody else.
 */
export interface InFlightLimiter {
  /** Whether nobody can begin an attempt, of the lanes that are proven, or of those that are not. */
  isFull(isProven: boolean): boolean;
  mayBegin(lane: Lane): boolean;
  /** An attempt of this lane is begun; call the returned function when it has ended. */
  begin(lane: Lane): () => void;
  inFlight(): number;
}

export interface InFlightLimits {
  /** Attempts that may end any moment, of all proven lanes; of one lane no more than a part of them. */
  quickMax: number;
  laneQuickMax: number;
  /** The same of all other lanes. */
  unprovenMax: number;
  /** An attempt that took so long (real time) waits for its receiver and costs a socket only: it no longer counts as quick. */
  quickMs: number;
  /** The same for lanes that are not proven, so that their slots go round. */
  unprovenMs: number;
  /** All attempts together: sockets, and their memory, 100 KiB each. As many as may be quick are left to proven lanes. */
  attemptsMax: number;
  /**
   * From so many attempts on that are slow, or whose lane is not proven, such lanes have one each: a thousand dead
   * endpoints hold less than two thousand sockets, whatever their caps.
   */
  crowd: number;
  /** A lane whose last attempt took so long hangs: it ends as a timed-out connection, and the next one costs a handshake. */
  hungMs: number;
  /** From so many lanes on that hang, each has one attempt at a time, and rests so that together they begin `hungPerSecond`. */
  hungMany: number;
  hungPerSecond: number;
}

const IN_FLIGHT_LIMITS: InFlightLimits = {
  quickMax: 512,
  laneQuickMax: 128,
  // With 250 ms each: a thousand dead endpoints whose attempts all end at once begin anew over two seconds.
  unprovenMax: 128,
  quickMs: 1_000,
  unprovenMs: 250,
  attemptsMax: 5_000,
  crowd: 1_000,
  hungMs: 20_000,
  // With the usual cap of 5 and 30 s each, so many make 10 handshakes a second, of 1 to 2 ms.
  hungMany: 64,
  hungPerSecond: 8,
};

/** An attempt on the wire. */
interface InFlightAttempt {
  lane: Lane;
  slots: "proven" | "unproven";
  /** Whether it counts as one that may end any moment. */
  isQuick: boolean;
}

/** @param onSlow  an attempt of this lane is slow from now on: there is room for others */
export function createInFlightLimiter(
  monotonicMs: () => number,
  onSlow: (lane: Lane) => void,
  limits: InFlightLimits = IN_FLIGHT_LIMITS,
): InFlightLimiter {
  /** By whether the lane was proven when they were begun. */
  const quick = { proven: 0, unproven: 0 };
  const noLongerQuick = (begun: InFlightAttempt) => {
    begun.isQuick = false;
    quick[begun.slots]--;
    begun.lane.quick--;
  };
  const toBeQuick = (limitMs: number) =>
    createDeadlines<InFlightAttempt>(limitMs, monotonicMs, (begun) => {
      noLongerQuick(begun);
      onSlow(begun.lane);
    });
  const soon = { proven: toBeQuick(limits.quickMs), unproven: toBeQuick(limits.unprovenMs) };
  let inFlight = 0;
  /** Lanes that hang. */
  const hung = new Set<Lane>();
  const crowd = () => inFlight - quick.proven;
  /** In a crowd: whether nothing of this lane adds to it. */
  const standsApart = (lane: Lane) => (lane.isProven ? lane.inFlight === lane.quick : lane.inFlight === 0);
  const mustRest = (lane: Lane) =>
    hung.size >= limits.hungMany && hung.has(lane) && (lane.inFlight > 0 || monotonicMs() < lane.restsUntilMs);
  /** @param tookMs  of the attempt that has just ended */
  function noteHang(lane: Lane, tookMs: number) {
    if (tookMs < limits.hungMs) return void hung.delete(lane);
    hung.add(lane);
    lane.restsUntilMs = monotonicMs() + (hung.size / limits.hungPerSecond) * 1_000 - tookMs;
  }
  const isFull = (isProven: boolean) =>
    isProven
      ? quick.proven >= limits.quickMax || inFlight >= limits.attemptsMax
      : quick.unproven >= limits.unprovenMax || inFlight >= limits.attemptsMax - limits.quickMax;
  return {
    isFull,
    mayBegin: (lane) =>
      hasFreeSlot(lane) &&
      lane.quick < limits.laneQuickMax &&
      !isFull(lane.isProven) &&
      (crowd() < limits.crowd || standsApart(lane)) &&
      !mustRest(lane),
    begin(lane) {
      const begun: InFlightAttempt = { lane, slots: lane.isProven ? "proven" : "unproven", isQuick: true };
      const startedMs = monotonicMs();
      quick[begun.slots]++;
      lane.quick++;
      inFlight++;
      lane.inFlight++;
      soon[begun.slots].add(begun);
      return () => {
        soon[begun.slots].remove(begun);
        if (begun.isQuick) noLongerQuick(begun);
        const tookMs = monotonicMs() - startedMs;
        lane.isProven = tookMs < limits.quickMs;
        noteHang(lane, tookMs);
        inFlight--;
        lane.inFlight--;
      };
    },
    inFlight: () => inFlight,
  };
}
