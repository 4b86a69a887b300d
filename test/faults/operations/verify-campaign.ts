import { setTimeout as sleep } from "node:timers/promises";
import type { Ports } from "../../../src/domain/ports.ts";
import type { ClockAnchor } from "../../../src/postgres/clock-anchor.ts";
import { type Database, prepared } from "../../../src/postgres/database.ts";
import type { ReportProblem } from "../harness/problems.ts";
import type { Interval } from "../harness/service-fleet.ts";
import type { MerchantEndpoint, Merchants } from "./simulated-merchants.ts";

interface CampaignEvidence {
  db: Database;
  ports: Ports;
  anchor: ClockAnchor;
  endpoint: MerchantEndpoint;
  merchants: Merchants;
  /** Periods with a fault. */
  intervals: readonly Interval[];
  broken: ReportProblem;
}

/** An event can be late by this much, plus the duration of faults meanwhile. */
const LATENESS_MS_MAX = 10_000;
const DRAIN_MS = 60_000;

const INVOICES = prepared("campaign_invoices", "select id from invoices");
const ATTEMPTS = prepared("campaign_attempts", "select invoice_id as id from transactions");
const EVENTS = prepared("campaign_events", "select id from events where withdrawn_at is null");
const OVERDUE = prepared(
  "campaign_overdue",
  `select (select count(*)::int from deliveries where due_at < $1) as deliveries,
     (select count(*)::int from due_cases where due_at < $1) as cases`,
);

/** Compares the acknowledged records, the stored records, and the arrived events. */
export async function verifyCampaign({ db, ports, anchor, endpoint, merchants, intervals, broken }: CampaignEvidence) {
  const { acknowledgedAt } = merchants;
  const { receiver, pausedAt, arrivals } = endpoint;
  const late = await waitUntilDrained(db, ports, anchor.rate);
  if (late !== null) broken("comes to rest", late);
  // The events of the last acknowledged records are still in flight.
  for (const deadline = Date.now() + DRAIN_MS; Date.now() < deadline; await sleep(100))
    if ([...acknowledgedAt.keys()].every((id) => pausedAt.has(id))) break;
  const idsOf = async (statement: typeof INVOICES) =>
    new Set((await db.run<{ id: string }>(statement)).rows.map(({ id }) => id));
  const [invoices, attempts, events] = [await idsOf(INVOICES), await idsOf(ATTEMPTS), await idsOf(EVENTS)];
  const readAt = Date.now() - LATENESS_MS_MAX;
  const counts = { acknowledged: acknowledgedAt.size, lost: 0, events: events.size, missing: 0, latestS: 0 };
  for (const [id, at] of acknowledgedAt) {
    if (!invoices.has(id) || !attempts.has(id)) {
      counts.lost++;
      broken("acknowledged", `invoice ${id} or its attempt was acknowledged and is not stored`);
    }
    const arrivedAt = pausedAt.get(id);
    if (arrivedAt === undefined) broken("on time", `no pause_collection arrived for invoice ${id}`);
    else judge(at, arrivedAt, `pause_collection of ${id}`);
  }
  // Some were created just before they were read.
  for (const deadline = Date.now() + LATENESS_MS_MAX; Date.now() < deadline; await sleep(100))
    if ([...events].every((id) => arrivals.has(id))) break;
  for (const id of events) {
    if (arrivals.has(id)) continue;
    counts.missing++;
    broken("on time", `event ${id} never arrived`);
  }
  const realOf = (service: number) => anchor.realAt.getTime() + (service - anchor.serviceAt.getTime()) / anchor.rate;
  for (const [id, { at, idealAt, invoiceId }] of arrivals) {
    if (!events.has(id) && at < readAt) broken("stored", `event ${id} arrived and is not stored`);
    if (idealAt !== null) judge(realOf(idealAt), at, `instruction ${id} of ${invoiceId}`);
  }
  for (const id of receiver.changed) broken("one body", `event ${id} came with two bodies`);
  return counts;

  /** @param due  latest real time of arrival if there had been no fault */
  function judge(due: number, arrivedAt: number, what: string) {
    const ms = arrivedAt - due - overlapMs(intervals, due, arrivedAt);
    counts.latestS = Math.max(counts.latestS, ms / 1_000);
    if (ms > LATENESS_MS_MAX) broken("on time", `${what} came ${Math.round(ms)} ms later than its faults explain`);
  }
}

/** Returns the milliseconds between `from` and `to` with a fault. The intervals do not overlap. */
const overlapMs = (intervals: readonly Interval[], from: number, to: number) =>
  intervals.reduce((sum, each) => sum + Math.max(0, Math.min(to, each.to) - Math.max(from, each.from)), 0);

/** Returns null when nothing is overdue; otherwise a description of it. */
async function waitUntilDrained(db: Database, ports: Ports, rate: number): Promise<string | null> {
  let last = "";
  for (const deadline = Date.now() + DRAIN_MS; Date.now() < deadline; await sleep(200)) {
    const limit = new Date(ports.now().getTime() - 1_000 * rate);
    const { deliveries, cases } = (await db.run<{ deliveries: number; cases: number }>(OVERDUE, [limit])).rows[0]!;
    if (deliveries + cases === 0) return null;
    last = `${deliveries} deliveries and ${cases} cases are overdue ${DRAIN_MS} ms after the last fault`;
  }
  return last;
}
