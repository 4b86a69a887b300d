import { createDeadlines } from "./https/deadlines.ts";
import { hasFreeSlot, type Lane } from "./merchant-lane.ts";

/**
 * Limits attempts in flight across merchants. Lanes whose last attempt was quick ("proven") have separate slots, so a thousand
 * dead endpoints compete only with each other.
 */
export interface InFlightLimiter {
  isFull(isProven: boolean): boolean;
  mayBegin(lane: Lane): boolean;
  /** Call the result when the attempt ends. */
  begin(lane: Lane): () => void;
  inFlight(): number;
}

export interface InFlightLimits {
  /** For all proven lanes. An attempt is quick while it may still end at any time. */
  quickMax: number;
  /** Quick attempts of a single lane. */
  laneQuickMax: number;
  /** For all unproven lanes. */
  unprovenMax: number;
  /** Real time after which an attempt only waits for its receiver, and no longer counts as quick. */
  quickMs: number;
  /** For unproven lanes. */
  unprovenMs: number;
  /** Limits sockets, 100 KiB each. `quickMax` are reserved for proven lanes. */
  attemptsMax: number;
  /** With this many slow or unproven attempts, such lanes have one each, whatever their caps. */
  crowdedFrom: number;
  /** A lane whose last attempt took this long hangs. Its next one costs a handshake. */
  hungMs: number;
  /** With this many hanging lanes, each has one attempt at a time, and rests in between. */
  hungLanesFrom: number;
  hungStartsPerSecond: number;
}

const IN_FLIGHT_LIMITS: InFlightLimits = {
  quickMax: 512,
  laneQuickMax: 128,
  // A thousand dead endpoints whose attempts end together restart within two seconds.
  unprovenMax: 128,
  quickMs: 1_000,
  unprovenMs: 250,
  attemptsMax: 5_000,
  crowdedFrom: 1_000,
  hungMs: 20_000,
  // With the default cap, 64 lanes make 10 handshakes a second, of 1 to 2 ms each.
  hungLanesFrom: 64,
  hungStartsPerSecond: 8,
};

interface InFlightAttempt {
  lane: Lane;
  slots: "proven" | "unproven";
  isQuick: boolean;
}

/** @param onSlow  an attempt stopped being quick, which frees a slot */
export function createInFlightLimiter(
  monotonicMs: () => number,
  onSlow: (lane: Lane) => void,
  limits: InFlightLimits = IN_FLIGHT_LIMITS,
): InFlightLimiter {
  /** As when they started. */
  const quick = { proven: 0, unproven: 0 };
  const stopCountingQuick = (begun: InFlightAttempt) => {
    begun.isQuick = false;
    quick[begun.slots]--;
    begun.lane.quickCount--;
  };
  const quickDeadlines = (limitMs: number) =>
    createDeadlines<InFlightAttempt>(limitMs, monotonicMs, (begun) => {
      stopCountingQuick(begun);
      onSlow(begun.lane);
    });
  const deadlines = { proven: quickDeadlines(limits.quickMs), unproven: quickDeadlines(limits.unprovenMs) };
  let inFlight = 0;
  const hung = new Set<Lane>();
  const crowdSize = () => inFlight - quick.proven;
  const isOutsideCrowd = (lane: Lane) => (lane.isProven ? lane.inFlight === lane.quickCount : lane.inFlight === 0);
  const mustRest = (lane: Lane) =>
    hung.size >= limits.hungLanesFrom && hung.has(lane) && (lane.inFlight > 0 || monotonicMs() < lane.restsUntilMs);
  function noteHang(lane: Lane, tookMs: number) {
    if (tookMs < limits.hungMs) return void hung.delete(lane);
    hung.add(lane);
    lane.restsUntilMs = monotonicMs() + (hung.size / limits.hungStartsPerSecond) * 1_000 - tookMs;
  }
  const isFull = (isProven: boolean) =>
    isProven
      ? quick.proven >= limits.quickMax || inFlight >= limits.attemptsMax
      : quick.unproven >= limits.unprovenMax || inFlight >= limits.attemptsMax - limits.quickMax;
  return {
    isFull,
    mayBegin: (lane) =>
      hasFreeSlot(lane) &&
      lane.quickCount < limits.laneQuickMax &&
      !isFull(lane.isProven) &&
      (crowdSize() < limits.crowdedFrom || isOutsideCrowd(lane)) &&
      !mustRest(lane),
    begin(lane) {
      const begun: InFlightAttempt = { lane, slots: lane.isProven ? "proven" : "unproven", isQuick: true };
      const startedMs = monotonicMs();
      quick[begun.slots]++;
      lane.quickCount++;
      inFlight++;
      lane.inFlight++;
      deadlines[begun.slots].add(begun);
      return () => {
        deadlines[begun.slots].remove(begun);
        if (begun.isQuick) stopCountingQuick(begun);
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
