import { redirectTo } from "./console.ts";
import { PageError } from "./page-error.ts";
import { parseDatetimeLocal } from "./show/time-format.ts";
import type { Visit } from "./visit.ts";

/** Fields of a form that hold a moment on the viewer's clocks, and those that are read in capital letters. */
interface NormalizedFields {
  moments: readonly string[];
  capitals?: readonly string[];
}

/**
 * An address says moments in UTC and codes in capital letters, so that it means the same to whoever gets it, and holds no empty field.
 * Where a query is as a person typed it into a form, the browser is sent to the one that is not.
 */
export function redirectToCanonicalQuery(
  { query, path, person, reply }: Visit,
  { moments, capitals = [] }: NormalizedFields,
) {
  const next = new URLSearchParams();
  for (const [name, text] of query) {
    if (text === "") continue;
    const isLocal = moments.includes(name) && /^\d{4}-\d\d-\d\dT[\d:]+$/.test(text);
    const at = isLocal ? parseDatetimeLocal(text, person.zone) : null;
    if (isLocal && at === null) throw new PageError(400, `"${name}" must be a moment such as 2027-01-31T12:00.`, name);
    const written = capitals.includes(name) && /^[a-z]{2,3}$/i.test(text) ? text.toUpperCase() : text;
    next.append(name, at === null ? written : at.toISOString().replace(".000Z", "Z"));
  }
  if (`${next}` === `${query}`) return null;
  return redirectTo(reply, next.size === 0 ? path : `${path}?${next}`);
}
