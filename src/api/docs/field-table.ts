import { type DocumentPart, withoutEmpty } from "../openapi/field-schema.ts";
import { escapeHtml, type Html, htmlTable, inlineCode, renderInline } from "./markup.ts";

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

export type ResolveRef = <T>(part: T | { $ref: string }) => T;

/** Such as `string, to 255 characters`. */
export function describeType(part: Schema): Html {
  const schema: Schema = withoutEmpty(part);
  const type = (schema.type as string | undefined) ?? "object";
  if (schema.const !== undefined) return inlineCode(JSON.stringify(schema.const));
  if (schema.enum) return choiceList(schema.enum);
  if (type === "array") return `array${describeRange(schema.minItems, schema.maxItems)}`;
  if (type === "integer") return `integer${describeRange(schema.minimum, schema.maximum)}`;
  if (schema.format === "date-time") return "timestamp, RFC 3339";
  if (schema.format === "uuid") return "UUID";
  if (type !== "string") return escapeHtml(type);
  // A pattern describes a short string best.
  return schema.pattern && schema.maxLength! <= 8
    ? inlineCode(schema.pattern)
    : `string, to ${schema.maxLength} characters`;
}

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
  depth: number;
}

function* listFieldLines(schema: Schema, resolveRef: ResolveRef, depth = 0): Generator<FieldLine> {
  for (const [name, part] of Object.entries(schema.properties ?? {})) {
    const field = resolveRef<Schema>(part);
    yield { name, field, required: schema.required?.includes(name) ?? false, depth };
    yield* listFieldLines(field.items ? resolveRef<Schema>(field.items) : field, resolveRef, depth + 1);
  }
}

/** One table, or one per alternative shape. */
export function fieldTable(
  part: Schema | { $ref: string },
  resolveRef: ResolveRef,
  requiredLabel: "required" | "always",
): Html {
  const schema = resolveRef<Schema>(part);
  if (schema.oneOf) return schema.oneOf.map((each) => fieldTable(each, resolveRef, requiredLabel)).join("\n");
  const rows = [...listFieldLines(schema, resolveRef)].map(({ name, field, required, depth }) => [
    `<span class="within${depth}">${inlineCode(name)}${required ? ` <b class="${requiredLabel}">${requiredLabel}</b>` : ""}</span>`,
    describeType(field),
    renderInline(field.description ?? ""),
  ]);
  const about = schema.description ? `<p>${renderInline(schema.description)}</p>` : "";
  return `${about}${htmlTable(["Field", "Type", "Meaning"], rows)}`;
}
