import { CONTROL_CHARACTER } from "../domain/display-text.ts";
import { parseTimestamp } from "../domain/timestamp.ts";
import { PageError } from "./page-error.ts";

export type ParameterReader<T> = (text: string) => T | InvalidParameter;
interface InvalidParameter {
  wrong: string;
}

/**
 * Empty parameters are missing, because forms send every field. Others are refused, because an empty page would look like a
 * result.
 */
export function parsePageQuery<Readers extends Record<string, ParameterReader<unknown>>>(
  query: URLSearchParams,
  readers: Readers,
) {
  const values: Record<string, unknown> = {};
  for (const [name, text] of query) {
    const reader = Object.hasOwn(readers, name) ? readers[name] : undefined;
    if (!reader) throw new PageError(400, `This page has no parameter "${name}".`, name);
    if (query.getAll(name).length > 1) throw new PageError(400, `The address contains "${name}" more than once.`, name);
    if (text === "") continue;
    if (CONTROL_CHARACTER.test(text)) throw new PageError(400, `"${name}" must not hold control characters.`, name);
    const value = reader(text);
    if (isInvalidParameter(value)) throw new PageError(400, `"${name}" ${value.wrong}.`, name);
    values[name] = value;
  }
  return values as { [Name in keyof Readers]?: Exclude<ReturnType<Readers[Name]>, InvalidParameter> };
}

export const isInvalidParameter = (value: unknown): value is InvalidParameter =>
  typeof value === "object" && value !== null && "wrong" in value;

export const enumReader =
  <T extends string>(choices: readonly T[]): ParameterReader<T> =>
  (text) =>
    choices.find((each) => each === text) ?? { wrong: `must be one of ${choices.join(", ")}` };

export const identifierReader: ParameterReader<string> = (text) =>
  text.length <= 255 && !CONTROL_CHARACTER.test(text)
    ? text
    : { wrong: "must be an identifier of 1 to 255 characters" };

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
export const isUuid = (text: string) => UUID.test(text);
export const uuidReader: ParameterReader<string> = (text) =>
  isUuid(text) ? text : { wrong: "must be an id such as 0198c0de-…" };

export const utcTimeReader: ParameterReader<Date> = (text) =>
  (text.endsWith("Z") && parseTimestamp(text)) || { wrong: "must be a time such as 2027-01-31T12:00:00Z" };

export function withQuery(path: string, query: URLSearchParams, changes: Record<string, string | null>): string {
  const next = new URLSearchParams([...query].filter(([, value]) => value !== ""));
  for (const [name, value] of Object.entries(changes))
    if (value === null) next.delete(name);
    else next.set(name, value);
  const text = next.toString();
  return text === "" ? path : `${path}?${text}`;
}
