import type { Logger as Log } from "pino";
import { DAY_MS, MINUTE_MS } from "../domain/durations.ts";
import type { Ports } from "../domain/ports.ts";
import type { Database } from "../postgres/database.ts";
import { errorFields } from "../postgres/database-errors.ts";
import type { EndedAttempt } from "../tables/delivery-attempts.ts";
import { clearEndpointFailing, markEndpointFailing, pauseFailingEndpoint } from "../tables/endpoint-states.ts";
import type { Lane } from "./merchant-lane.ts";

/** Pauses an endpoint that has failed every attempt for days. */
export interface EndpointHealth {
  /** Call it before the attempt is recorded, so that a crash in between leaves no outdated failure mark. */
  recordSuccess(lane: Lane, epoch: number): Promise<void>;
  /** Call it after the attempt was recorded. */
  recordFailure(lane: Lane, ended: EndedAttempt): void;
  /** Waits for the writes that are under way. */
  waitUntilIdle(): Promise<unknown>;
}

/** Service time. */
const HEALTH_LIMITS = {
  /** Shorter failures cost no write. */
  markAfterMs: MINUTE_MS,
  warnAfterMs: DAY_MS,
  pauseAfterMs: 3 * DAY_MS,
  /** An event's short retries must fail too: if events are days apart, one failure is no reason to pause. */
  pauseAtNumber: 4,
} as const;

/** Writes under the lease epoch, so that a former owner changes nothing. */
export function createEndpointHealth({ db, ports, log }: { db: Database; ports: Ports; log: Log }): EndpointHealth {
  /** One write per lane at a time. The next attempt repeats a failed one. */
  const writing = new Map<Lane, Promise<void>>();
  const write = (lane: Lane, operation: () => Promise<void>) => {
    const { id: merchantId } = lane.merchant;
    const warn = (error: unknown) => log.warn({ ...errorFields(error), merchantId }, "endpoint.state-failed");
    const written = (writing.get(lane) ?? Promise.resolve()).then(operation).catch(warn);
    writing.set(lane, written);
    return written.finally(() => {
      if (writing.get(lane) === written) writing.delete(lane);
    });
  };

  async function pause(lane: Lane, epoch: number) {
    const { id: merchantId, webhookFailingSince } = lane.merchant;
    const now = ports.now();
    const longAgo = new Date(now.getTime() - HEALTH_LIMITS.pauseAfterMs);
    if (!(await pauseFailingEndpoint(db, merchantId, epoch, now, longAgo))) return;
    lane.merchant = { ...lane.merchant, webhookPaused: true, webhookPausedAt: now, webhookPausedBy: "dunlin" };
    log.warn({ merchantId, failingSince: webhookFailingSince }, "endpoint.paused");
  }

  return {
    async recordSuccess(lane, epoch) {
      lane.failing = { since: null, warned: false };
      // A mark that is being written is cleared afterwards.
      if (lane.merchant.webhookFailingSince === null && !writing.has(lane)) return;
      await write(lane, async () => {
        if (lane.merchant.webhookFailingSince === null) return;
        await clearEndpointFailing(db, lane.merchant.id, epoch);
        lane.merchant = { ...lane.merchant, webhookFailingSince: null };
      });
    },
    recordFailure(lane, { endedAt, epoch, number }) {
      const markedSince = lane.merchant.webhookFailingSince;
      const since = markedSince ?? lane.failing.since ?? endedAt;
      const forMs = endedAt.getTime() - since.getTime();
      const { id: merchantId, webhookPaused } = lane.merchant;
      if (markedSince === null) lane.failing.since = since;
      if (forMs < HEALTH_LIMITS.markAfterMs || writing.has(lane)) return;
      if (markedSince === null)
        write(lane, async () => {
          await markEndpointFailing(db, merchantId, epoch, since);
          lane.merchant = { ...lane.merchant, webhookFailingSince: since };
          // A person can reset it in the table.
          lane.failing.since = null;
        });
      else if (forMs >= HEALTH_LIMITS.pauseAfterMs && number >= HEALTH_LIMITS.pauseAtNumber && !webhookPaused)
        write(lane, () => pause(lane, epoch));
      else if (forMs >= HEALTH_LIMITS.warnAfterMs && !lane.failing.warned) {
        lane.failing.warned = true;
        log.warn({ merchantId, failingSince: since }, "endpoint.failing");
      }
    },
    waitUntilIdle: () => Promise.all(writing.values()),
  };
}
