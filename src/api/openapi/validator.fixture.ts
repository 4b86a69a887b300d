// What the tests of the document begin with: a validator that has nothing in common with the one that the service uses.
import { Ajv2020 } from "ajv/dist/2020.js";
import type { DocumentPart } from "./field-schema.ts";
import { buildOpenApiDocument } from "./openapi-document.ts";

const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: false });
/** The document, read back from its text as everybody else does. */
export const DOCUMENT = JSON.parse(JSON.stringify(buildOpenApiDocument("https://dunlin.example.com"))) as DocumentPart;

/** The part of the document at this JSON pointer; a reference is followed. */
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

/** Whether a value fits the schema at this JSON pointer. */
export function createValidatorAt(pointer: string): (value: unknown) => boolean {
  // References in it begin at the root of the document.
  const validate = ajv.compile({ ...partAt<DocumentPart>(pointer), components: DOCUMENT.components });
  return (value) => validate(value) as boolean;
}
