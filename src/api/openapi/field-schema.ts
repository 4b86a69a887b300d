import type { TSchema } from "typebox";
import { type Field, INT4_MAX } from "../ingest/fields.ts";

/** A part of the document: what JSON can hold. */
export type Part = Readonly<Record<string, unknown>>;

/**
 * A schema as OpenAPI 3.1 wants it: with a type where only values are listed, and with the size of integers, which readers of the
 * document ask for and the check has no use for.
 */
export function shown(schema: TSchema): Part {
  const plain = JSON.parse(JSON.stringify(schema)) as Part;
  if ("enum" in plain) return { type: "string", ...plain };
  if (plain.type !== "integer") return plain;
  return { ...plain, format: (plain.maximum as number) > INT4_MAX ? "int64" : "int32" };
}

/** A field of a record, with all that is checked of it and that a schema can say. An optional one may be null. */
export function fieldSchema({ schema, alsoSays, required }: Field, description: string): Part {
  const part = { ...shown(schema), ...alsoSays };
  return { ...(required ? part : orNull(part)), description };
}

function orNull(part: Part): Part {
  const values = part.enum as readonly unknown[] | undefined;
  return { ...part, type: [part.type, "null"], ...(values && { enum: [...values, null] }) };
}
