// Asking Intl costs 20 µs and more; the names that exist are few, their spellings in other cases are many.
const knownZones = new Set<string>();
const KNOWN_ZONES_MAX = 2000;
export const ZONE_CHARS_MAX = 64;

/** Whether a name is one of an IANA time zone. Intl also takes offsets such as +01:00, which are none, and which PostgreSQL reads the other way round. */
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
