// Intl is slow.
const knownZones = new Set<string>();
const KNOWN_ZONES_MAX = 2000;
export const ZONE_CHARS_MAX = 64;

/** IANA names only: PostgreSQL reads offsets such as +01:00 with the opposite sign. */
export function isTimeZone(name: string): boolean {
  if (knownZones.has(name)) return true;
  if (name.length > ZONE_CHARS_MAX || !/^[A-Za-z]/.test(name)) return false;
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
  } catch {
    return false;
  }
  if (knownZones.size < KNOWN_ZONES_MAX) knownZones.add(name);
  return true;
}
