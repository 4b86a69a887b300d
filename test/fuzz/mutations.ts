import type { Dice } from "./dice.ts";
import { VALUES, WHOLE_BODIES } from "./traps.ts";

/** A body to send. */
export interface Body {
  bytes: Buffer;
  headers?: Record<string, string>;
}

const utf8 = (text: string): Body => ({ bytes: Buffer.from(text) });
/** A value in a JSON text: what stands behind a colon, up to what ends it. */
const VALUE = /(?<=:)(?:"(?:[^"\\]|\\.)*"|[\w.+-]+)/g;

function otherValue(text: string, dice: Dice): string {
  const values = [...text.matchAll(VALUE)];
  if (values.length === 0) return text;
  const { index, 0: value } = dice.pick(values);
  return text.slice(0, index) + dice.pick(VALUES) + text.slice(index + value.length);
}

function oneMoreField(text: string, dice: Dice): string {
  const braces = [...text.matchAll(/\{(?=")/g)];
  if (braces.length === 0) return text;
  const at = dice.pick(braces).index + 1;
  const keys = [...text.matchAll(/"(?:[^"\\]|\\.)*"(?=:)/g)].map(([key]) => key);
  const key = dice.once(3) ? dice.pick(keys) : dice.pick(['"x"', '"__proto__"', '"4111111111111111"', '"\\u0069d"']);
  return `${text.slice(0, at)}${key}:${dice.pick(VALUES)},${text.slice(at)}`;
}

function otherBytes(bytes: Buffer, dice: Dice): Buffer {
  const copy = Buffer.from(bytes);
  const at = dice.upTo(copy.length + 1);
  const many = dice.upTo(8) + 1;
  switch (dice.upTo(5)) {
    case 0:
      copy[Math.min(at, copy.length - 1)] = dice.upTo(256);
      return copy;
    case 1:
      return Buffer.concat([copy.subarray(0, at), copy.subarray(at + many)]);
    case 2:
      return Buffer.concat([copy.subarray(0, at), Buffer.from([dice.upTo(256)]), copy.subarray(at)]);
    case 3:
      return copy.subarray(0, at);
    default:
      return Buffer.concat([copy.subarray(0, at), copy.subarray(Math.max(0, at - many))]);
  }
}

/** The same, written or sent in another way. */
function otherwise(text: string, dice: Dice): Body {
  switch (dice.upTo(7)) {
    case 0:
      return { bytes: Buffer.from(`\ufeff${text}`) };
    case 1:
      return { bytes: Buffer.from(text, "utf16le") };
    case 2:
      return { bytes: Buffer.from(text, "latin1") };
    case 3:
      return { ...utf8(text), headers: { "content-encoding": dice.pick(["gzip", "identity", "br"]) } };
    case 4:
      return {
        ...utf8(text),
        headers: {
          "content-type": dice.pick(["text/plain", "application/json; charset=utf-16", "application/json;", "x"]),
        },
      };
    default:
      return utf8(text.replaceAll(":", dice.pick([" :", ":\n", ": "])));
  }
}

/** A body made from one of the schemas, changed in one of many ways or not at all. */
export function mutated(text: string, dice: Dice): Body {
  const kind = dice.upTo(100);
  if (kind < 25) return utf8(text);
  if (kind < 55) return utf8(otherValue(text, dice));
  if (kind < 70) return utf8(oneMoreField(text, dice));
  if (kind < 80) return utf8(otherValue(oneMoreField(otherValue(text, dice), dice), dice));
  if (kind < 90) return { bytes: otherBytes(Buffer.from(text), dice) };
  if (kind < 95) return otherwise(text, dice);
  return utf8(dice.pick(WHOLE_BODIES));
}
