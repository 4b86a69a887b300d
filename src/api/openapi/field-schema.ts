import type { TSchema } from "typebox";
import { INT4_MAX, type RecordField } from "../../ingest/record-fields.ts";

export type DocumentPart = Readonly<Record<string, unknown>>;

/** Validation needs neither enum types nor integer formats. */
export function toDocumentSchema(schema: TSchema): DocumentPart {
  const part = JSON.parse(JSON.stringify(schema)) as DocumentPart;
  if ("enum" in part) return { type: "string", ...part };
  if (part.type !== "integer") return part;
  return { ...part, format: (part.maximum as number) > INT4_MAX ? "int64" : "int32" };
}

/** An optional field also allows null and an empty string. */
export function fieldSchema({ schema, documentedSchema, required }: RecordField, description: string): DocumentPart {
  const part = { ...toDocumentSchema(schema), ...documentedSchema };
  return { ...(required ? part : orEmpty(part)), description };
}

function orEmpty({ minLength, ...part }: DocumentPart): DocumentPart {
  const values = part.enum as readonly unknown[] | undefined;
  if (values) return { ...part, type: [part.type, "null"], enum: [...values, "", null] };
  if (part.type !== "string") return { ...part, type: [part.type, "string", "null"], maxLength: 0 };
  const pattern = part.pattern as string | undefined;
  const allowsEmpty = pattern === undefined || new RegExp(pattern).test("");
  return {
    ...part,
    type: [part.type, "null"],
    ...(!allowsEmpty && { pattern: pattern.replace(/^\^(.*)\$$/, "^(?:$1)?$") }),
  };
}

/** For readers and generated types. */
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
