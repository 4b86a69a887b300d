// Functions of templates, as Go, sprig and Helm have them. `npm run check:deploy` compares them with the real ones.
import { createHash } from "node:crypto";
import { stringify } from "yaml";

export type Value = undefined | null | string | number | boolean | Value[] | { [key: string]: Value };

/** Go prints larger numbers of a values file with an exponent. */
const NUMBER_MAX = 999_999;

export const isMap = (value: Value): value is { [key: string]: Value } =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export function isTrue(value: Value): boolean {
  if (Array.isArray(value)) return value.length > 0;
  return isMap(value) ? Object.keys(value).length > 0 : Boolean(value);
}

/** The text of a value in an output. A missing value, a list or a map is refused: Go would print its own notation. */
export function printed(value: Value): string {
  if (typeof value === "string" || typeof value === "boolean") return String(value);
  if (typeof value === "number" && Number.isInteger(value) && Math.abs(value) <= NUMBER_MAX) return String(value);
  throw new Error(`prints ${value === undefined ? "a missing value" : JSON.stringify(value)}`);
}

function text(value: Value): string {
  if (typeof value !== "string") throw new Error(`takes a text, not ${JSON.stringify(value)}`);
  return value;
}

function whole(value: Value): number {
  if (typeof value !== "number" || !Number.isInteger(value))
    throw new Error(`takes a number, not ${JSON.stringify(value)}`);
  return value;
}

function map(value: Value): { [key: string]: Value } {
  if (!isMap(value)) throw new Error(`takes a map, not ${JSON.stringify(value)}`);
  return value;
}

/** Returns below 0, 0 or above 0. Go refuses to compare values of two types. */
function compare(one: Value, other: Value): number {
  if (typeof one !== typeof other || (typeof one !== "string" && typeof one !== "number"))
    throw new Error(`cannot compare ${JSON.stringify(one)} with ${JSON.stringify(other)}`);
  return one === other ? 0 : one < other! ? -1 : 1;
}

function dict(words: readonly Value[]): Value {
  if (words.length % 2 !== 0) throw new Error("dict takes pairs");
  return Object.fromEntries(words.flatMap((word, i) => (i % 2 === 0 ? [[text(word), words[i + 1]]] : [])));
}

const sorted = (value: Value): Value => {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isMap(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sorted(value[key])]),
  );
};

/** Go also escapes the characters that HTML gives a meaning. */
const json = (value: Value) =>
  JSON.stringify(sorted(value)).replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

function printf(format: string, words: readonly Value[]): string {
  const rest = [...words];
  const result = format.replace(/%(.)/g, (_, verb: string) => {
    if (verb !== "s" || rest.length === 0) throw new Error(`printf knows only %s, each with a text: ${format}`);
    return text(rest.shift());
  });
  if (rest.length > 0) throw new Error(`printf has too many texts: ${format}`);
  return result;
}

interface TemplateFunction {
  /** How many arguments it takes; null if any. */
  takes: number | null;
  run: (...words: Value[]) => Value;
}
const one = (run: (a: Value) => Value): TemplateFunction => ({ takes: 1, run });
const two = (run: (a: Value, b: Value) => Value): TemplateFunction => ({ takes: 2, run });

/** All but `and`, `or` and `include`, which the renderer has. */
export const FUNCTIONS: Readonly<Record<string, TemplateFunction>> = {
  default: two((fallback, value) => (isTrue(value) ? value : fallback)),
  dict: { takes: null, run: (...words) => dict(words) },
  eq: two((a, b) => compare(a, b) === 0),
  fail: one((reason) => {
    throw new Error(text(reason));
  }),
  ge: two((a, b) => compare(a, b) >= 0),
  get: two((from, key) => map(from)[text(key)] ?? ""),
  int: one(whole),
  lower: one((word) => text(word).toLowerCase()),
  lt: two((a, b) => compare(a, b) < 0),
  ne: two((a, b) => compare(a, b) !== 0),
  nindent: two((width, lines) => `\n${text(lines)}`.replaceAll("\n", `\n${" ".repeat(whole(width))}`)),
  not: one((value) => !isTrue(value)),
  printf: { takes: null, run: (format, ...words) => printf(text(format), words) },
  quote: one((value) => JSON.stringify(printed(value))),
  sha256sum: one((word) => createHash("sha256").update(text(word)).digest("hex")),
  toJson: one(json),
  // YAML 1.1 is the one in which Kubernetes reads a bare `on` as true.
  toYaml: one((value) => stringify(sorted(value), { version: "1.1", lineWidth: 0 }).trimEnd()),
  urlParse: one((address) => ({ hostname: new URL(text(address)).hostname })),
};
