import type { TSchema } from "typebox";
import { INT4_MAX, type RecordField } from "../../ingest/record-fields.ts";

/** A part of the document: what JSON can hold. */
export type DocumentPart = Readonly<Record<string, unknown>>;

/**
 * A schema as OpenAPI 3.1 wants it: with a type where only values are listed, and with the size of integers, which readers of the
 * document ask for and the check has no use for.
 */
export function toDocumentSchema(schema: TSchema): DocumentPart {
  const plain = JSON.parse(JSON.stringify(schema)) as DocumentPart;
  if ("enum" in plain) return { type: "string", ...plain };
  if (plain.type !== "integer") return plain;
  return { ...plain, format: (plain.maximum as number) > INT4_MAX ? "int64" : "int32" };
}

/** A field of a record, with all that is checked of it and that a schema can say. An optional one may be null or an empty text. */
export function fieldSchema({ schema, alsoSays, required }: RecordField, description: string): DocumentPart {
  const part = { ...toDocumentSchema(schema), ...alsoSays };
  return { ...(required ? part : orEmpty(part)), description };
}

/** The same schema, for which null and an empty text do, too. */
function orEmpty({ minLength, ...part }: DocumentPart): DocumentPart {
  const values = part.enum as readonly unknown[] | undefined;
  if (values) return { ...part, type: [part.type, "null"], enum: [...values, "", null] };
  if (part.type !== "string") return { ...part, type: [part.type, "string", "null"], maxLength: 0 };
  const pattern = part.pattern as string | undefined;
  const takesEmpty = pattern === undefined || new RegExp(pattern).test("");
  return {
    ...part,
    type: [part.type, "null"],
    ...(!takesEmpty && { pattern: pattern.replace(/^\^(.*)\$$/, "^(?:$1)?$") }),
  };
}

/** A schema without the empty values that `fieldSchema` adds: for readers, and for the types of a program. */
export function withoutEmpty(schema: DocumentPart): DocumentPart {
  if (!Array.isArray(schema.type) || !schema.type.includes("null")) return schema;
  const [type] = schema.type as string[];
  const { maxLength, ...rest } = schema;
  const values = schema.enum as readonly unknown[] | undefined;
  return {
    ...rest,
    type,
    ...(type === "string" && maxLength !== undefined && { maxLength }),
    ...(values && { enum: values.filter((value) => value !== null && value !== "") }),
    ...(typeof schema.pattern === "string" && { pattern: schema.pattern.replace(/^\^\(\?:(.*)\)\?\$$/, "^$1$") }),
  };
}
