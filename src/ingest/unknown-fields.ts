import { holdsCardNumber, isCardNumber } from "../domain/card-number.ts";
import { tooDeepError } from "./refuse-excessive-json.ts";
import { DEPTH_MAX } from "./scan-json.ts";

/** What is said of a field that Dunlin does not know. Its sender may expect that such a field is ignored. */
export const CARD_NUMBER_RULE =
  "must not hold a card number (13 to 19 digits that pass the Luhn check): card numbers are not accepted anywhere, not even in unknown fields";

/** `place.key`. The caller's own key is shown only when it is a short word without a long number in it. */
function formatFieldPath(place: string, key: string): string {
  const shown = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(key) && !/\d{6}/.test(key) ? key : "(unknown field)";
  return place === "" ? shown : `${place}.${shown}`;
}

type PathPart = string | number;

/** `place` with these keys and indexes behind it. */
export const formatPath = (place: string, parts: readonly PathPart[]) =>
  parts.reduce<string>((at, part) => (typeof part === "number" ? `${at}[${part}]` : formatFieldPath(at, part)), place);

/**
 * Calls `onCard` with the place of each field of `object` that `concerns` picks and that holds a card number, in a text, a
 * number or a key, however deep inside. Nothing else about unknown fields matters: they are ignored.
 *
 * @param level  how deep in the body `object` is; the body itself is at level 1
 */
export function findCards(
  object: Record<string, unknown>,
  place: string,
  level: number,
  concerns: (key: string) => boolean,
  onCard: (place: string) => void,
) {
  for (const key of Object.keys(object)) {
    if (!concerns(key)) continue;
    const found = holdsCardNumber(key, 1) ? [] : findCardPath(object[key], level + 1);
    if (found) onCard(formatPath(place, [key, ...found.reverse()]));
  }
}

/** No number below has so many digits. */
const THIRTEEN_DIGITS = 1e12;

/** The keys and indexes that lead to a card number in `value`, last one first; they are named only when there is one. */
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
