import { goTo } from "./console.ts";
import { PageError } from "./page-error.ts";
import { fromLocalField } from "./show/moments.ts";
import type { Visit } from "./visit.ts";

/**
 * Fields of forms hold moments on the viewer's clocks; an address says them in UTC, so that it means the same to whoever gets
 * it. Where a query holds the former, the browser is sent to the latter.
 */
export function inUtc({ query, path, person, reply }: Visit, names: readonly string[]) {
  const next = new URLSearchParams();
  let changed = false;
  for (const [name, text] of query) {
    const isLocal = names.includes(name) && /^\d{4}-\d\d-\d\dT[\d:]+$/.test(text);
    const at = isLocal ? fromLocalField(text, person.zone) : null;
    if (isLocal && at === null) throw new PageError(400, `"${name}" must be a moment such as 2027-01-31T12:00.`);
    changed ||= at !== null || text === "";
    if (text !== "") next.append(name, at === null ? text : at.toISOString().replace(".000Z", "Z"));
  }
  if (!changed) return null;
  return goTo(reply, next.size === 0 ? path : `${path}?${next}`);
}
