import type { Ports } from "../domain/ports.ts";
import { rateWaitMs } from "./delivery-rate.ts";
import type { Lane } from "./merchant-lane.ts";

/** What brings a lane back when nothing else does. */
export interface LaneTimers {
  /** Come back after `delayMs` of real time, when `lane.nextDueMs` has come. */
  wakeAt(lane: Lane, delayMs: number): void;
  /** Whether the merchant's rate is used up; then the lane comes back by itself. */
  waitsForRate(lane: Lane): boolean;
  clear(lanes: Iterable<Lane>): void;
}

/** Beyond this the sweep notices by itself, and a clock that was set may have changed everything. */
const TIMER_MAX_MS = 5_000;

/** @param advance  called when a lane's time has come; it looks anew at what the lane can do */
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
      const waitMs = rateWaitMs(lane.merchant, lane.rate, ports.monotonicMs());
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
