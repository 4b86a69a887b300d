// Cached because Intl takes 20 µs or more.
const knownZones = new Set<string>();
const KNOWN_ZONES_MAX = 2000;
export const ZONE_CHARS_MAX = 64;

/**
 * Whether a name is an IANA time zone. Offsets such as +01:00 are not: PostgreSQL reads them with the opposite sign.
 */
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
