// Valid and invalid bodies, generated only from the schemas of the document.
import fc from "fast-check";
import type { DocumentPart } from "./field-schema.ts";
import { partAt } from "./validator.fixture.ts";

interface Schema extends DocumentPart {
  type: string | string[];
  enum?: unknown[];
  pattern?: string;
  format?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
}

const MINUTE = 60_000;
const realTimestamp = fc
  .tuple(
    // Mostly in the past: the service refuses records from the future.
    fc.oneof(
      {
        weight: 10,
        arbitrary: fc.date({ min: new Date(0), max: new Date(Date.UTC(2026, 0, 1)), noInvalidDate: true }),
      },
      {
        weight: 1,
        arbitrary: fc.date({ min: new Date(0), max: new Date(Date.UTC(2199, 11, 30)), noInvalidDate: true }),
      },
    ),
    fc.integer({ min: -1439, max: 1439 }),
  )
  .map(([date, offset]) => {
    const local = new Date(Math.max(0, date.getTime() + offset * MINUTE)).toISOString().slice(0, -1);
    const [hours, minutes] = [Math.floor(Math.abs(offset) / 60), Math.abs(offset) % 60].map((n) =>
      String(n).padStart(2, "0"),
    );
    return offset === 0 ? `${local}Z` : `${local}${offset < 0 ? "-" : "+"}${hours}:${minutes}`;
  });
const zone = fc.constantFrom("Europe/Berlin", "UTC", "America/Argentina/Buenos_Aires", "asia/calcutta", "Etc/GMT+5");
// Characters that count differently in bytes, code units and code points.
const unit = fc.constantFrom("a", "Z", "9", " ", "-", "é", "😀", "\u2028", "\ufeff", "\u0301");

/** May break a rule beyond the schema. */
function fittingValues(schema: Schema): fc.Arbitrary<unknown> {
  const types = [schema.type].flat();
  if (types.includes("null"))
    return fc.oneof(
      { weight: 1, arbitrary: fc.constantFrom(null, "") },
      { weight: 8, arbitrary: fittingValues(withoutEmpty(schema)) },
    );
  if (schema.enum) return fc.constantFrom(...schema.enum);
  if (types.includes("boolean")) return fc.boolean();
  if (types.includes("integer")) {
    const { minimum = 0, maximum = 0 } = schema;
    return fc.oneof(
      fc.constantFrom(minimum, maximum),
      fc.maxSafeInteger().map((n) => minimum + (Math.abs(n) % (maximum - minimum + 1))),
    );
  }
  const { pattern, minLength = 0, maxLength = 0 } = schema;
  const matching = fc
    .stringMatching(new RegExp(pattern!, "u"), { size: "small" })
    .filter((text) => [...text].length <= maxLength);
  if (schema.format === "date-time")
    return fc.oneof({ weight: 40, arbitrary: realTimestamp }, { weight: 1, arbitrary: matching });
  if (pattern!.includes("_+/-")) return fc.oneof({ weight: 20, arbitrary: zone }, { weight: 1, arbitrary: matching });
  if (!pattern!.startsWith("^[^")) return matching;
  const text = fc.array(unit, { minLength, maxLength: 20 }).map((units) => units.join(""));
  const edges = fc.constantFrom("x".repeat(maxLength), "😀".repeat(maxLength), "4111111111111111");
  return fc.oneof({ weight: 20, arbitrary: text }, { weight: 1, arbitrary: edges });
}

const withoutEmpty = ({ maxLength, ...schema }: Schema): Schema => ({
  ...schema,
  type: [schema.type].flat().slice(0, 1),
  ...(maxLength ? { maxLength } : {}),
  ...(schema.enum && { enum: schema.enum.filter((value) => value !== null && value !== "") }),
});

/** One character changed, added or removed, to test the edges of a pattern. */
const mutatedTexts = (texts: fc.Arbitrary<unknown>) =>
  fc
    .tuple(texts.map(String), fc.nat(), fc.constantFrom(0, 1), fc.constantFrom("", ..."0123456789:-+.TZtz_ aA"))
    .map(([text, place, cut, put]) => {
      const at = place % (text.length + 1);
      return text.slice(0, at) + put + text.slice(at + cut);
    });

/** Any code points, with lone surrogates. fast-check's own "binary" takes seconds to build. */
const CODE_POINTS = fc.integer({ min: 0, max: 0x10ffff }).map((point) => String.fromCodePoint(point));

/** Plausible mistakes and attacks. Some match the schema. */
const oddValues = (schema: Schema): fc.Arbitrary<unknown> => {
  const { maxLength = 10, maximum = 10, minimum = 0 } = schema;
  return fc.oneof(
    fc.constantFrom<unknown>(null, true, "", " ", 0, -1, 1.5, 1e21, [], {}, "null", "__proto__", "constructor"),
    fc.constantFrom<unknown>("x".repeat(maxLength + 1), "😀".repeat(maxLength + 1), maximum + 1, minimum - 1, 2 ** 53),
    fc.constantFrom("a\u0000b", "a\u007f", "\u0085", "a\nb", "\ud83d", "4111 1111 1111 1111", "4111111111111111"),
    fc.constantFrom(
      "2026-02-30T00:00:00Z",
      "2026-01-01",
      "2026-01-01T00:00:00",
      "1969-12-31T23:59:59Z",
      "+01:00",
      "Europe/Nowhere",
    ),
    fc.constantFrom(
      "2016-12-31T23:59:60Z",
      "2026-01-01T24:00:00Z",
      "2026-01-01T00:00:00+24:00",
      "2026-01-01T00:00:00.Z",
    ),
    fc.jsonValue(),
    fc.string({ unit: CODE_POINTS }),
    { weight: 3, arbitrary: mutatedTexts(fittingValues(schema)) },
    ...(schema.pattern
      ? [fc.stringMatching(new RegExp(schema.pattern, "u"), { size: "small" }).map((text) => `${text}\n`)]
      : []),
    ...(schema.enum ? [fc.constantFrom(...schema.enum).map((value) => String(value).toLowerCase())] : []),
  );
};

type RecordMutation = (record: Record<string, unknown>) => unknown;

/** Bodies whose field `name` holds records of this schema. */
export function bodyValues(name: string, record: string): fc.Arbitrary<unknown> {
  const { properties, required } = partAt<{ properties: Record<string, Schema>; required: string[] }>(
    `/components/schemas/${record}`,
  );
  const fields = Object.fromEntries(Object.entries(properties).map(([key, schema]) => [key, fittingValues(schema)]));
  const good = fc.record(fields, { requiredKeys: required }) as fc.Arbitrary<Record<string, unknown>>;
  const mutations: fc.Arbitrary<RecordMutation> = fc.oneof(
    fc.constantFrom(...required).map(
      (key) =>
        ({ [key]: _, ...rest }) =>
          rest,
    ),
    {
      weight: 5,
      arbitrary: fc.constantFrom(...Object.keys(properties)).chain((key) =>
        oddValues(properties[key]!).map(
          (value): RecordMutation =>
            (each) => ({ ...each, [key]: value }),
        ),
      ),
    },
    fc.tuple(fc.string(), fc.jsonValue()).map(
      ([key, value]): RecordMutation =>
        (each) => ({ ...each, [`x${key}`]: value }),
    ),
    fc.constantFrom<unknown>(null, 5, "x", [], [[]]).map((value) => () => value),
  );
  const mutated = fc.tuple(good, mutations).map(([each, mutate]) => mutate(each));
  const batch = fc.oneof(
    { weight: 4, arbitrary: fc.array(good, { minLength: 1, maxLength: 3 }) },
    {
      weight: 6,
      arbitrary: fc.tuple(fc.array(good, { maxLength: 2 }), mutated).map(([rest, each]) => [...rest, each]),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom(0, 200, 201).chain((length) => good.map((each) => Array(length).fill(each))),
    },
  );
  return fc.oneof(
    { weight: 30, arbitrary: batch.map((records) => ({ [name]: records })) },
    {
      weight: 1,
      arbitrary: batch.chain((records) => fc.jsonValue().map((value) => ({ extra: value, [name]: records }))),
    },
    { weight: 1, arbitrary: fc.jsonValue() },
    { weight: 1, arbitrary: fc.jsonValue().map((value) => ({ [name]: value })) },
  );
}

/** Valid and invalid values, as text. */
export function parameterValues(schema: DocumentPart): fc.Arbitrary<string> {
  const each = schema as Schema;
  const text = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));
  return fc.oneof({ weight: 3, arbitrary: fittingValues(each) }, { weight: 1, arbitrary: oddValues(each) }).map(text);
}
