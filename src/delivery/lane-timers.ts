import type { Ports } from "../domain/ports.ts";
import { rateWaitMs } from "./delivery-rate.ts";
import type { Lane } from "./merchant-lane.ts";

/** Advance a lane when nothing else does. */
export interface LaneTimers {
  /** @param delayMs  real time until `lane.nextDueMs` */
  wakeAt(lane: Lane, delayMs: number): void;
  /** If the merchant's rate is used up, a timer advances the lane. */
  waitsForRate(lane: Lane): boolean;
  clear(lanes: Iterable<Lane>): void;
}

/** Longer waits are left to the sweep, because the clock may be set meanwhile. */
const TIMER_MAX_MS = 5_000;

export function createLaneTimers(ports: Ports, advance: (lane: Lane) => void): LaneTimers {
  return {
    wakeAt(lane, delayMs) {
      if (lane.timer !== null && lane.timerDueMs === lane.nextDueMs) return;
      if (lane.timer !== null) clearTimeout(lane.timer);
      lane.timer = null;
      if (delayMs > TIMER_MAX_MS) return;
      lane.timerDueMs = lane.nextDueMs;
      lane.timer = setTimeout(
        () => {
          lane.timer = null;
          advance(lane);
        },
        Math.max(1, Math.ceil(delayMs)),
      );
    },
    waitsForRate(lane) {
      if (lane.merchant.webhookRate === null) return false;
      if (lane.rateTimer !== null) return true;
      const waitMs = rateWaitMs(lane.merchant, lane.rateBucket, ports.monotonicMs());
      if (waitMs === 0) return false;
      lane.rateTimer = setTimeout(() => {
        lane.rateTimer = null;
        advance(lane);
      }, waitMs);
      return true;
    },
    clear(lanes) {
      for (const { timer, rateTimer } of lanes) for (const each of [timer, rateTimer]) clearTimeout(each ?? undefined);
    },
  };
}
