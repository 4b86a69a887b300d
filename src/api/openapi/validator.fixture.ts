// What the tests of the document begin with: a validator that has nothing in common with the one that the service uses.
import { Ajv2020 } from "ajv/dist/2020.js";
import { openApiDocument } from "./document.ts";
import type { Part } from "./field-schema.ts";

const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: false });
/** The document, read back from its text as everybody else does. */
export const DOCUMENT = JSON.parse(JSON.stringify(openApiDocument("https://dunlin.example.com"))) as Part;

/** The part of the document at this JSON pointer; a reference is followed. */
export function at<T = Part>(pointer: string): T {
  let part: unknown = DOCUMENT;
  for (const name of pointer.split("/").slice(1)) {
    const key = name.replaceAll("~1", "/").replaceAll("~0", "~");
    part = followed(part as Part)[key];
  }
  return followed(part as Part) as T;
}

function followed(part: Part): Part {
  return typeof part?.$ref === "string" ? at(part.$ref.slice(1)) : part;
}

/** Whether a value fits the schema at this JSON pointer. */
export function validatorAt(pointer: string): (value: unknown) => boolean {
  // References in it begin at the root of the document.
  const validate = ajv.compile({ ...at<Part>(pointer), components: DOCUMENT.components });
  return (value) => validate(value) as boolean;
}
