import { ApiError, badFieldError } from "../http/errors.ts";
import { readJson } from "../ingest/read-json.ts";
import { isEmptyValue, isValidFieldValue, type RecordField } from "../ingest/record-fields.ts";

/**
 * Reads a request's fields from its JSON object. An optional field that is null or empty is absent, and unknown fields are
 * ignored.
 *
 * @param body  undefined: none, like an empty object
 * @throws ApiError  a 400 that names the first field at fault
 */
export function readRequestBody<Body extends object>(
  fields: Readonly<Record<keyof Body & string, RecordField>>,
  body: Buffer | undefined,
): Body {
  if (!body || body.length === 0) return readFields(fields, {}, true) as Body;
  const { value, isPlainAscii } = readJson(body);
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new ApiError(400, "the body must be a JSON object");
  return readFields(fields, value as Record<string, unknown>, isPlainAscii) as Body;
}

function readFields(
  fields: Readonly<Record<string, RecordField>>,
  values: Readonly<Record<string, unknown>>,
  isPlainAscii: boolean,
) {
  const found: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(fields)) {
    const value = Object.hasOwn(values, name) ? values[name] : null;
    if (isEmptyValue(value)) {
      if (field.required) throw badFieldError(name, "is required");
      continue;
    }
    const read = isValidFieldValue(field, value) ? field.read(value, isPlainAscii) : undefined;
    if (read === undefined) throw badFieldError(name, field.rule);
    if (field.holdsCard?.(value as string)) throw badFieldError(name, "must not hold a card number");
    found[name] = read;
  }
  return found;
}
