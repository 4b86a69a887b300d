import { HOUR_MS } from "../domain/durations.ts";
import type { AlertKind } from "../domain/notice.ts";
import type { Incident } from "../tables/notice-incidents.ts";
import type { GivenUpEvents } from "../tables/recovery-rates.ts";

export const newIncident = (kind: AlertKind): Incident => ({ kind, since: null, announcedAt: null, readTo: null });

/** `begin`: announce the incident. `end`: announce that it is over. */
export interface IncidentStep {
  next: Incident;
  announces: "begin" | "end" | null;
}

/**
 * Steps the state of a matter that has a beginning and an end.
 *
 * @param delayMs  how long the matter lasts before it is announced: a short one is not worth a mail
 */
export function stepState(incident: Incident, isOpen: boolean, now: Date, delayMs: number): IncidentStep {
  if (!isOpen) {
    const announces = incident.announcedAt === null ? null : "end";
    return { next: { ...incident, since: null, announcedAt: null }, announces };
  }
  const since = incident.since ?? now;
  const isDue = incident.announcedAt === null && now.getTime() - since.getTime() >= delayMs;
  return {
    next: { ...incident, since, announcedAt: isDue ? now : incident.announcedAt },
    announces: isDue ? "begin" : null,
  };
}

/** An endpoint that is down for hours makes Dunlin give up many events, one after the other. */
const GIVEN_UP_PAUSE_MS = HOUR_MS;

/** Announces events that were given up since the last alert, and when none is left. */
export function stepGivenUp(incident: Incident, { total, newCount, latestAt }: GivenUpEvents, now: Date): IncidentStep {
  const { announcedAt } = incident;
  if (total === 0)
    return { next: { ...incident, since: null, announcedAt: null }, announces: announcedAt === null ? null : "end" };
  const isPaused = announcedAt !== null && now.getTime() - announcedAt.getTime() < GIVEN_UP_PAUSE_MS;
  if (newCount === 0 || isPaused) return { next: incident, announces: null };
  return {
    next: { ...incident, since: incident.since ?? now, announcedAt: now, readTo: latestAt },
    announces: "begin",
  };
}
