import type { Logger as Log } from "pino";
import { DAY_MS, MINUTE_MS } from "../domain/durations.ts";
import type { Ports } from "../domain/ports.ts";
import type { Database } from "../postgres/database.ts";
import { errorFields } from "../postgres/database-errors.ts";
import type { EndedAttempt } from "../tables/delivery-attempts.ts";
import { clearEndpointFailing, markEndpointFailing, pauseFailingEndpoint } from "../tables/endpoint-states.ts";
import type { Lane } from "./merchant-lane.ts";

/** Watches whether an endpoint fails everything, and pauses one that has done so for days. Nothing is dropped: its deliveries wait. */
export interface EndpointHealth {
  /** An attempt succeeded, and is not recorded yet: a crash in between leaves no mark of failures that this success ended. */
  succeeded(lane: Lane, epoch: number): Promise<void>;
  /** A failed attempt was recorded. */
  failed(lane: Lane, ended: EndedAttempt): void;
}

/** All in service time. */
const HEALTH_LIMITS = {
  /** Shorter troubles stay in memory: an endpoint that fails every other attempt must not cost a write for each. */
  markAfterMs: MINUTE_MS,
  warnAfterMs: DAY_MS,
  pauseAfterMs: 3 * DAY_MS,
  /** The short retries of the event failed too: when events are days apart, a hiccup is no reason to pause. */
  pauseAtNumber: 4,
} as const;

/** What is new lies with the lane; what lasts for a minute is written under the epoch of the lease, so that a former owner writes nothing. */
export function createEndpointHealth({ db, ports, log }: { db: Database; ports: Ports; log: Log }): EndpointHealth {
  /** One write at a time for a lane; what fails is done again at the next occasion, which a failing endpoint gives soon. */
  const writing = new Map<Lane, Promise<void>>();
  const write = (lane: Lane, work: () => Promise<void>) => {
    const { id: merchantId } = lane.merchant;
    const warn = (error: unknown) => log.warn({ ...errorFields(error), merchantId }, "endpoint.state-failed");
    const done = (writing.get(lane) ?? Promise.resolve()).then(work).catch(warn);
    writing.set(lane, done);
    return done.finally(() => {
      if (writing.get(lane) === done) writing.delete(lane);
    });
  };

  async function pause(lane: Lane, epoch: number) {
    const { id: merchantId, webhookFailingSince } = lane.merchant;
    const now = ports.now();
    const longAgo = new Date(now.getTime() - HEALTH_LIMITS.pauseAfterMs);
    if (!(await pauseFailingEndpoint(db, merchantId, epoch, now, longAgo))) return;
    // In front of the next reading of all merchants.
    lane.merchant = { ...lane.merchant, webhookPaused: true, webhookPausedAt: now, webhookPausedBy: "dunlin" };
    log.warn({ merchantId, failingSince: webhookFailingSince }, "endpoint.paused");
  }

  return {
    async succeeded(lane, epoch) {
      lane.failing = { since: null, warned: false };
      // A mark that is just being written is cleared after it.
      if (lane.merchant.webhookFailingSince === null && !writing.has(lane)) return;
      await write(lane, async () => {
        if (lane.merchant.webhookFailingSince === null) return;
        await clearEndpointFailing(db, lane.merchant.id, epoch);
        lane.merchant = { ...lane.merchant, webhookFailingSince: null };
      });
    },
    failed(lane, { endedAt, epoch, number }) {
      const marked = lane.merchant.webhookFailingSince;
      const since = marked ?? lane.failing.since ?? endedAt;
      const forMs = endedAt.getTime() - since.getTime();
      const { id: merchantId, webhookPaused } = lane.merchant;
      if (marked === null) lane.failing.since = since;
      if (forMs < HEALTH_LIMITS.markAfterMs || writing.has(lane)) return;
      if (marked === null)
        write(lane, async () => {
          await markEndpointFailing(db, merchantId, epoch, since);
          lane.merchant = { ...lane.merchant, webhookFailingSince: since };
          // From now on the table says it, and a person may take it back there.
          lane.failing.since = null;
        });
      else if (forMs >= HEALTH_LIMITS.pauseAfterMs && number >= HEALTH_LIMITS.pauseAtNumber && !webhookPaused)
        write(lane, () => pause(lane, epoch));
      else if (forMs >= HEALTH_LIMITS.warnAfterMs && !lane.failing.warned) {
        lane.failing.warned = true;
        log.warn({ merchantId, failingSince: since }, "endpoint.failing");
      }
    },
  };
}
