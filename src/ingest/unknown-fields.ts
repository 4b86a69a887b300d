import { holdsCardNumber, isCardNumber } from "../domain/card-number.ts";
import { tooDeepError } from "./refuse-excessive-json.ts";
import { DEPTH_MAX } from "./scan-json.ts";

/** Senders expect unknown fields to be ignored, so the message is explicit. */
export const CARD_NUMBER_RULE =
  "must not hold a card number (13 to 19 digits that pass the Luhn check): card numbers are not accepted anywhere, not even in unknown fields";

/** A long key or number may be anything, so it is not shown. */
function formatFieldPath(path: string, key: string): string {
  const shownKey = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(key) && !/\d{6}/.test(key) ? key : "(unknown field)";
  return path === "" ? shownKey : `${path}.${shownKey}`;
}

type PathPart = string | number;

export const formatPath = (start: string, parts: readonly PathPart[]) =>
  parts.reduce<string>(
    (path, part) => (typeof part === "number" ? `${path}[${part}]` : formatFieldPath(path, part)),
    start,
  );

/**
 * Calls `onCard` with the path of each selected field that holds a card number in a text, number or key at any depth.
 *
 * @param level  depth of `object`; the body itself is at level 1
 */
export function findCards(
  object: Record<string, unknown>,
  path: string,
  level: number,
  isSelected: (key: string) => boolean,
  onCard: (path: string) => void,
) {
  for (const key of Object.keys(object)) {
    if (!isSelected(key)) continue;
    const found = holdsCardNumber(key, 1) ? [] : findCardPath(object[key], level + 1);
    if (found) onCard(formatPath(path, [key, ...found.reverse()]));
  }
}

/** Card numbers have at least 13 digits. */
const THIRTEEN_DIGITS = 1e12;

/** Innermost part first. */
function findCardPath(value: unknown, level: number): PathPart[] | undefined {
  if (typeof value === "string") return holdsCardNumber(value, 1) ? [] : undefined;
  if (typeof value === "number") return value >= THIRTEEN_DIGITS && isCardNumber(String(value)) ? [] : undefined;
  if (typeof value !== "object" || value === null) return undefined;
  if (level > DEPTH_MAX) throw tooDeepError();
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      const found = findCardPath(value[index], level + 1);
      if (found) return [...found, index];
    }
    return undefined;
  }
  for (const key of Object.keys(value)) {
    const found = holdsCardNumber(key, 1) ? [] : findCardPath((value as Record<string, unknown>)[key], level + 1);
    if (found) return [...found, key];
  }
  return undefined;
}
