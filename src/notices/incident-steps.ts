import { HOUR_MS } from "../domain/durations.ts";
import type { AlertKind } from "../domain/notice.ts";
import type { Incident } from "../tables/notice-incidents.ts";
import type { GivenUpEvents } from "../tables/recovery-rates.ts";

export const newIncident = (kind: AlertKind): Incident => ({ kind, since: null, toldAt: null, readTo: null });

/** `begin`: tell the incident. `end`: tell that it is over. */
export interface IncidentStep {
  next: Incident;
  tells: "begin" | "end" | null;
}

/**
 * Steps the state of a matter that has a beginning and an end.
 *
 * @param delayMs  how long the matter lasts before it is told: a short one is not worth a mail
 */
export function stepState(incident: Incident, isOpen: boolean, now: Date, delayMs: number): IncidentStep {
  if (!isOpen) {
    const tells = incident.toldAt === null ? null : "end";
    return { next: { ...incident, since: null, toldAt: null }, tells };
  }
  const since = incident.since ?? now;
  const isDue = incident.toldAt === null && now.getTime() - since.getTime() >= delayMs;
  return { next: { ...incident, since, toldAt: isDue ? now : incident.toldAt }, tells: isDue ? "begin" : null };
}

/** An endpoint that is down for hours makes Dunlin give up many events, one after the other. */
const GIVEN_UP_PAUSE_MS = HOUR_MS;

/** Tells events that were given up since the last alert, and when none is left. */
export function stepGivenUp(incident: Incident, { total, newCount, latestAt }: GivenUpEvents, now: Date): IncidentStep {
  const { toldAt } = incident;
  if (total === 0) return { next: { ...incident, since: null, toldAt: null }, tells: toldAt === null ? null : "end" };
  const isPaused = toldAt !== null && now.getTime() - toldAt.getTime() < GIVEN_UP_PAUSE_MS;
  if (newCount === 0 || isPaused) return { next: incident, tells: null };
  return { next: { ...incident, since: incident.since ?? now, toldAt: now, readTo: latestAt }, tells: "begin" };
}
