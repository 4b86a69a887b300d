import { hasRoom, type Lane } from "./lane.ts";

/** All attempts on the wire. What merchants share, so that none of them can take it from the others. */
export interface Wire {
  /** Whether nobody at all can begin an attempt. */
  isFull(): boolean;
  mayBegin(lane: Lane): boolean;
  /** An attempt of this lane is begun; call the returned function when it has ended. */
  begin(lane: Lane): () => void;
  inFlight(): number;
}

export interface WireLimits {
  /** Attempts that may end any moment; of one lane no more than a part of them. */
  quickMax: number;
  laneQuickMax: number;
  /** An attempt that took so long (real time) waits for its receiver and costs a socket only: it no longer counts as quick. */
  quickMs: number;
  /** All attempts together: sockets, and their memory. */
  attemptsMax: number;
  /** From so many slow ones on, lanes that have slow ones begin nothing: the rest is for those that answer. */
  slowCrowd: number;
}

export const WIRE_LIMITS: WireLimits = {
  quickMax: 512,
  laneQuickMax: 128,
  quickMs: 1_000,
  attemptsMax: 5_000,
  slowCrowd: 2_500,
};

/** @param onSlow  an attempt of this lane is slow from now on: there is room for others */
export function createWire(onSlow: (lane: Lane) => void, limits: WireLimits = WIRE_LIMITS): Wire {
  let quick = 0;
  let inFlight = 0;
  return {
    isFull: () => quick >= limits.quickMax || inFlight >= limits.attemptsMax,
    mayBegin: (lane) =>
      hasRoom(lane) &&
      lane.quick < limits.laneQuickMax &&
      (inFlight - quick < limits.slowCrowd || lane.inFlight === lane.quick),
    begin(lane) {
      let isQuick = true;
      quick++;
      lane.quick++;
      inFlight++;
      lane.inFlight++;
      const noLongerQuick = () => {
        isQuick = false;
        quick--;
        lane.quick--;
      };
      const timer = setTimeout(() => {
        noLongerQuick();
        onSlow(lane);
      }, limits.quickMs);
      return () => {
        clearTimeout(timer);
        if (isQuick) noLongerQuick();
        inFlight--;
        lane.inFlight--;
      };
    },
    inFlight: () => inFlight,
  };
}
