import { type Part, withoutEmpty } from "../openapi/field-schema.ts";
import { code, escaped, type Html, inline, table } from "./markup.ts";

/** The parts of a schema that the page shows. */
export interface Schema extends Part {
  type?: string | string[];
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  oneOf?: Schema[];
  enum?: string[];
  const?: unknown;
  format?: string;
  default?: unknown;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
  maxLength?: number;
  pattern?: string;
}

/** What a reference leads to, and everything else as it is. */
export type Follow = <T>(part: T | { $ref: string }) => T;

/** `string`, `moment`, `array of 1 to 200`, with what a value is limited to. */
export function typeOf(part: Schema): Html {
  const schema: Schema = withoutEmpty(part);
  const type = (schema.type as string | undefined) ?? "object";
  if (schema.const !== undefined) return code(JSON.stringify(schema.const));
  if (schema.enum) return choices(schema.enum);
  if (type === "array") return `array${range(schema.minItems, schema.maxItems)}`;
  if (type === "integer") return `integer${range(schema.minimum, schema.maximum)}`;
  if (schema.format === "date-time") return "moment, RFC 3339";
  if (schema.format === "uuid") return "UUID";
  if (type !== "string") return escaped(type);
  // A short text is told best by its pattern.
  return schema.pattern && schema.maxLength! <= 8 ? code(schema.pattern) : `string, to ${schema.maxLength} characters`;
}

// Beyond this a bound is there for the machine and says nothing to a reader.
const TELLING = 100_000;

function range(from: number | undefined, to: number | undefined): Html {
  if (to === undefined) return "";
  if (to === 0) return ", empty";
  return to > TELLING ? `, from ${from ?? 0}` : `, ${from ?? 0} to ${to}`;
}

const choices = (values: readonly string[]): Html => `<span class="choices">${values.map(code).join(" ")}</span>`;

interface Line {
  name: string;
  field: Schema;
  required: boolean;
  /** How many objects it is inside of; the body itself is none. */
  within: number;
}

/** Each field of an object, and after it those inside it or inside each of its records. */
function* linesOf(schema: Schema, follow: Follow, within = 0): Generator<Line> {
  for (const [name, part] of Object.entries(schema.properties ?? {})) {
    const field = follow<Schema>(part);
    yield { name, field, required: schema.required?.includes(name) ?? false, within };
    yield* linesOf(field.items ? follow<Schema>(field.items) : field, follow, within + 1);
  }
}

/**
 * The fields of a body as a table; of several shapes, one table each.
 *
 * @param sure  what is said of a field that is never left out
 */
export function fieldTable(part: Schema | { $ref: string }, follow: Follow, sure: "required" | "always"): Html {
  const schema = follow<Schema>(part);
  if (schema.oneOf) return schema.oneOf.map((each) => fieldTable(each, follow, sure)).join("\n");
  const rows = [...linesOf(schema, follow)].map(({ name, field, required, within }) => [
    `<span class="within${within}">${code(name)}${required ? ` <b class="${sure}">${sure}</b>` : ""}</span>`,
    typeOf(field),
    inline(field.description ?? ""),
  ]);
  const about = schema.description ? `<p>${inline(schema.description)}</p>` : "";
  return `${about}${table(["Field", "What it is", "Meaning"], rows)}`;
}
