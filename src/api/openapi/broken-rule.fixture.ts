// A second implementation of the rules beyond the schemas, without the service's code.
function* jsonLeaves(value: unknown): Generator<string> {
  if (typeof value === "object" && value !== null)
    for (const [key, each] of Object.entries(value)) {
      yield key;
      yield* jsonLeaves(each);
    }
  else if (typeof value === "string" || typeof value === "number") yield String(value);
}

/** Whether any 13 to 19 consecutive digits pass Luhn, ignoring other characters. Finds at least as many cards as the service. */
function mayHoldCard(text: string) {
  const digits = text.replace(/\D/g, "");
  for (let start = 0; start + 13 <= digits.length; start++)
    for (let end = start + 13; end <= Math.min(start + 19, digits.length); end++) {
      const sum = [...digits.slice(start, end)].reverse().reduce((total, digit, index) => {
        const doubled = Number(digit) * (1 + (index % 2));
        return total + (doubled > 9 ? doubled - 9 : doubled);
      }, 0);
      if (sum % 10 === 0) return true;
    }
  return false;
}

export function isRealTimestamp(text: string, yearMax = 2199) {
  const day = text.slice(0, 10);
  const date = new Date(`${day}T00:00:00Z`);
  const time = new Date(text.toUpperCase()).getTime();
  const isInRange = time >= 0 && time < Date.UTC(yearMax + 1, 0, 1);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day) && isInRange;
}

const isZone = (name: string) => {
  try {
    return Boolean(new Intl.DateTimeFormat("en", { timeZone: name }));
  } catch {
    return false;
  }
};

const SKEW_MS = 5 * 60_000;
const mayBeFuture = (name: string) => name === "canceledAt" || name === "expiresAt";
const mustBePast = (name: string) => name === "createdAt" || name === "updatedAt";

/** Returns the listed rule that a schema-conforming body breaks. */
export function findBrokenRule(
  records: readonly Record<string, unknown>[],
  body: unknown,
  knownFields: { has(name: string): boolean },
  now = new Date(),
): string | undefined {
  for (const record of records)
    for (const [name, value] of Object.entries(record)) {
      if (typeof value !== "string" || !knownFields.has(name)) continue;
      if (value === "") continue; // an optional field that is absent
      if (name.endsWith("At") && !isRealTimestamp(value, mayBeFuture(name) ? 9999 : 2199)) return "real-moment";
      if (name === "customerTimezone" && !isZone(value)) return "known-time-zone";
      if (!value.isWellFormed()) return "well-formed-text";
    }
  for (const record of records) {
    const { amount, amountDue } = record;
    for (const [name, value] of Object.entries(record))
      if (mustBePast(name) && typeof value === "string" && Date.parse(value.toUpperCase()) > +now + SKEW_MS)
        return "no-future";
    if (knownFields.has("amountDue") && typeof amountDue === "number" && amountDue > (amount as number))
      return "due-within-amount";
  }
  return [...jsonLeaves(body)].some(mayHoldCard) ? "no-card-number" : undefined;
}
