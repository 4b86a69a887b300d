import { ApiError, badField } from "../errors.ts";
import { holdsCardNumber, isCardNumber } from "../json/card-number.ts";
import { DEPTH_MAX } from "../json/scan-json.ts";

/** A 400 that names the place and nothing else. */
export const refuseCardNumber = (place: string) => badField(place, "must not hold a card number");

export const tooDeep = () => new ApiError(400, `the body must not be nested deeper than ${DEPTH_MAX} levels`);

/** `place.key`. The caller's own key is shown only when it is a short word without a long number in it. */
export function fieldAt(place: string, key: string): string {
  const shown = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(key) && !/\d{6}/.test(key) ? key : "(unknown field)";
  return place === "" ? shown : `${place}.${shown}`;
}

/**
 * Throws a 400 when a field of `object` that `concerns` picks holds a card number, in a text, a number or a key, however
 * deep inside. Nothing else about unknown fields matters: they are ignored.
 *
 * @param level  how deep in the body `object` is; the body itself is at level 1
 */
export function refuseCards(object: object, place: string, level: number, concerns: (key: string) => boolean) {
  for (const [key, value] of Object.entries(object)) {
    if (!concerns(key)) continue;
    if (holdsCardNumber(key, 1)) throw refuseCardNumber(fieldAt(place, key));
    look(value, fieldAt(place, key), level + 1);
  }
}

function look(value: unknown, place: string, level: number) {
  if (typeof value === "string") {
    if (holdsCardNumber(value, 1)) throw refuseCardNumber(place);
  } else if (typeof value === "number") {
    if (isCardNumber(String(value))) throw refuseCardNumber(place);
  } else if (typeof value === "object" && value !== null) {
    if (level > DEPTH_MAX) throw tooDeep();
    if (Array.isArray(value)) for (const [index, item] of value.entries()) look(item, `${place}[${index}]`, level + 1);
    else
      for (const [key, item] of Object.entries(value)) {
        if (holdsCardNumber(key, 1)) throw refuseCardNumber(fieldAt(place, key));
        look(item, fieldAt(place, key), level + 1);
      }
  }
}
