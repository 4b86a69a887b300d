import { NAUGHTY_VALUES, WHOLE_BODIES } from "./naughty-texts.ts";
import type { SeededRandom } from "./seeded-random.ts";

/** A body to send. */
export interface FuzzBody {
  bytes: Buffer;
  headers?: Record<string, string>;
}

const utf8Body = (text: string): FuzzBody => ({ bytes: Buffer.from(text) });
/** A value in a JSON text: from a colon to its end. */
const JSON_VALUE = /(?<=:)(?:"(?:[^"\\]|\\.)*"|[\w.+-]+)/g;

function replaceValue(text: string, dice: SeededRandom): string {
  const values = [...text.matchAll(JSON_VALUE)];
  if (values.length === 0) return text;
  const { index, 0: value } = dice.pick(values);
  return text.slice(0, index) + dice.pick(NAUGHTY_VALUES) + text.slice(index + value.length);
}

function addField(text: string, dice: SeededRandom): string {
  const braces = [...text.matchAll(/\{(?=")/g)];
  if (braces.length === 0) return text;
  const at = dice.pick(braces).index + 1;
  const keys = [...text.matchAll(/"(?:[^"\\]|\\.)*"(?=:)/g)].map(([key]) => key);
  const key = dice.once(3) ? dice.pick(keys) : dice.pick(['"x"', '"__proto__"', '"4111111111111111"', '"\\u0069d"']);
  return `${text.slice(0, at)}${key}:${dice.pick(NAUGHTY_VALUES)},${text.slice(at)}`;
}

function mutateBytes(bytes: Buffer, dice: SeededRandom): Buffer {
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

/** Returns the same body, encoded or sent in another way. */
function mutateEncoding(text: string, dice: SeededRandom): FuzzBody {
  switch (dice.upTo(7)) {
    case 0:
      return { bytes: Buffer.from(`\ufeff${text}`) };
    case 1:
      return { bytes: Buffer.from(text, "utf16le") };
    case 2:
      return { bytes: Buffer.from(text, "latin1") };
    case 3:
      return { ...utf8Body(text), headers: { "content-encoding": dice.pick(["gzip", "identity", "br"]) } };
    case 4:
      return {
        ...utf8Body(text),
        headers: {
          "content-type": dice.pick(["text/plain", "application/json; charset=utf-16", "application/json;", "x"]),
        },
      };
    default:
      return utf8Body(text.replaceAll(":", dice.pick([" :", ":\n", ": "])));
  }
}

/** Returns a body from one of the schemas, changed in one of many ways or not at all. */
export function mutateBody(text: string, dice: SeededRandom): FuzzBody {
  const kind = dice.upTo(100);
  if (kind < 25) return utf8Body(text);
  if (kind < 55) return utf8Body(replaceValue(text, dice));
  if (kind < 70) return utf8Body(addField(text, dice));
  if (kind < 80) return utf8Body(replaceValue(addField(replaceValue(text, dice), dice), dice));
  if (kind < 90) return { bytes: mutateBytes(Buffer.from(text), dice) };
  if (kind < 95) return mutateEncoding(text, dice);
  return utf8Body(dice.pick(WHOLE_BODIES));
}
