import { type DocumentPart, withoutEmpty } from "../openapi/field-schema.ts";
import { escapeHtml, type Html, htmlTable, inlineCode, renderInline } from "./markup.ts";

/** The parts of a schema that the page shows. */
export interface Schema extends DocumentPart {
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
export type ResolveRef = <T>(part: T | { $ref: string }) => T;

/** `string`, `moment`, `array of 1 to 200`, with what a value is limited to. */
export function describeType(part: Schema): Html {
  const schema: Schema = withoutEmpty(part);
  const type = (schema.type as string | undefined) ?? "object";
  if (schema.const !== undefined) return inlineCode(JSON.stringify(schema.const));
  if (schema.enum) return choiceList(schema.enum);
  if (type === "array") return `array${describeRange(schema.minItems, schema.maxItems)}`;
  if (type === "integer") return `integer${describeRange(schema.minimum, schema.maximum)}`;
  if (schema.format === "date-time") return "moment, RFC 3339";
  if (schema.format === "uuid") return "UUID";
  if (type !== "string") return escapeHtml(type);
  // A short text is told best by its pattern.
  return schema.pattern && schema.maxLength! <= 8
    ? inlineCode(schema.pattern)
    : `string, to ${schema.maxLength} characters`;
}

// Beyond this a bound is there for the machine and says nothing to a reader.
const SHOWN_BOUND_MAX = 100_000;

function describeRange(from: number | undefined, to: number | undefined): Html {
  if (to === undefined) return "";
  if (to === 0) return ", empty";
  return to > SHOWN_BOUND_MAX ? `, from ${from ?? 0}` : `, ${from ?? 0} to ${to}`;
}

const choiceList = (values: readonly string[]): Html =>
  `<span class="choices">${values.map(inlineCode).join(" ")}</span>`;

interface FieldLine {
  name: string;
  field: Schema;
  required: boolean;
  /** How many objects it is inside of; the body itself is none. */
  within: number;
}

/** Each field of an object, and after it those inside it or inside each of its records. */
function* listFieldLines(schema: Schema, follow: ResolveRef, within = 0): Generator<FieldLine> {
  for (const [name, part] of Object.entries(schema.properties ?? {})) {
    const field = follow<Schema>(part);
    yield { name, field, required: schema.required?.includes(name) ?? false, within };
    yield* listFieldLines(field.items ? follow<Schema>(field.items) : field, follow, within + 1);
  }
}

/**
 * The fields of a body as a table; of several shapes, one table each.
 *
 * @param sure  what is said of a field that is never left out
 */
export function fieldTable(part: Schema | { $ref: string }, follow: ResolveRef, sure: "required" | "always"): Html {
  const schema = follow<Schema>(part);
  if (schema.oneOf) return schema.oneOf.map((each) => fieldTable(each, follow, sure)).join("\n");
  const rows = [...listFieldLines(schema, follow)].map(({ name, field, required, within }) => [
    `<span class="within${within}">${inlineCode(name)}${required ? ` <b class="${sure}">${sure}</b>` : ""}</span>`,
    describeType(field),
    renderInline(field.description ?? ""),
  ]);
  const about = schema.description ? `<p>${renderInline(schema.description)}</p>` : "";
  return `${about}${htmlTable(["Field", "What it is", "Meaning"], rows)}`;
}
