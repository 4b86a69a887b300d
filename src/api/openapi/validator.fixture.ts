// Setup for tests of the OpenAPI document: a validator that shares no code with the service's.
import { Ajv2020 } from "ajv/dist/2020.js";
import type { DocumentPart } from "./field-schema.ts";
import { buildOpenApiDocument } from "./openapi-document.ts";

const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: false });
export const DOCUMENT = JSON.parse(JSON.stringify(buildOpenApiDocument("https://dunlin.example.com"))) as DocumentPart;

/** Returns the part at this JSON pointer. Follows references. */
export function partAt<T = DocumentPart>(pointer: string): T {
  let part: unknown = DOCUMENT;
  for (const name of pointer.split("/").slice(1)) {
    const key = name.replaceAll("~1", "/").replaceAll("~0", "~");
    part = resolveRef(part as DocumentPart)[key];
  }
  return resolveRef(part as DocumentPart) as T;
}

function resolveRef(part: DocumentPart): DocumentPart {
  return typeof part?.$ref === "string" ? partAt(part.$ref.slice(1)) : part;
}

export function createValidatorAt(pointer: string): (value: unknown) => boolean {
  // References start at the root of the document.
  const validate = ajv.compile({ ...partAt<DocumentPart>(pointer), components: DOCUMENT.components });
  return (value) => validate(value) as boolean;
}
