// Asking Intl costs 20 µs and more; the names that exist are few, their spellings in other cases are many.
const known = new Set<string>();
const KNOWN_MAX = 2000;
export const ZONE_CHARS_MAX = 64;

/** Whether a name is one of an IANA time zone. Intl also takes offsets such as +01:00, which are none, and which PostgreSQL reads the other way round. */
export function isZone(name: string): boolean {
  if (known.has(name)) return true;
  if (name.length > ZONE_CHARS_MAX || !/^[A-Za-z]/.test(name)) return false;
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
  } catch {
    return false;
  }
  if (known.size < KNOWN_MAX) known.add(name);
  return true;
}
