import { redirectTo } from "./console.ts";
import { PageError } from "./page-error.ts";
import { parseDatetimeLocal } from "./show/time-format.ts";
import type { Visit } from "./visit.ts";

interface NormalizedFields {
  times: readonly string[];
  uppercase?: readonly string[];
}

/** For everyone the same: times in UTC, codes in capital letters, no empty fields. */
export function redirectToCanonicalQuery(
  { query, path, person, reply }: Visit,
  { times, uppercase = [] }: NormalizedFields,
) {
  const next = new URLSearchParams();
  for (const [name, text] of query) {
    if (text === "") continue;
    const isLocal = times.includes(name) && /^\d{4}-\d\d-\d\dT[\d:]+$/.test(text);
    const at = isLocal ? parseDatetimeLocal(text, person.zone) : null;
    if (isLocal && at === null) throw new PageError(400, `"${name}" must be a time such as 2027-01-31T12:00.`, name);
    const written = uppercase.includes(name) && /^[a-z]{2,3}$/i.test(text) ? text.toUpperCase() : text;
    next.append(name, at === null ? written : at.toISOString().replace(".000Z", "Z"));
  }
  if (`${next}` === `${query}`) return null;
  return redirectTo(reply, next.size === 0 ? path : `${path}?${next}`);
}
