import { DECLINE_GROUPS, type DeclineGroup } from "./decline-groups.ts";

export type JsonFields = Readonly<Record<string, unknown>>;

/** Notes problems. Returns undefined for an absent or wrong value. */
export type RuleReader = ReturnType<typeof createRuleReader>;

/** @param problems  receives each problem with its place */
export function createRuleReader(problems: string[]) {
  const wrong = (place: string, problem: string) => void problems.push(`${place} ${problem}`);

  /** @param knownFields  allowed names; null: any */
  function fields(value: unknown, place: string, knownFields: readonly string[] | null): JsonFields {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      wrong(place || "the file", "must be an object");
      return {};
    }
    for (const name of Object.keys(value))
      if (knownFields && !knownFields.includes(name))
        wrong(place ? `${place}.${name}` : name, `is not known. Write one of ${knownFields.join(", ")}`);
    return value as JsonFields;
  }

  const entries = (value: unknown, place: string, knownFields: readonly string[]): [string, JsonFields, string][] =>
    value === undefined
      ? []
      : Object.entries(fields(value, place, null)).map(([name, each]) => {
          const here = `${place}.${name}`;
          return [name, fields(each, here, knownFields), here];
        });

  function readWholeNumber(value: unknown, place: string, most: number): number | undefined {
    if (value === undefined) return undefined;
    if (typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= most) return value;
    wrong(place, `must be a whole number from 1 to ${most}, not ${JSON.stringify(value)}`);
    return undefined;
  }

  function readBoolean(value: unknown, place: string): boolean | undefined {
    if (value !== undefined && typeof value !== "boolean") wrong(place, "must be true or false");
    return value === true ? true : value === false ? false : undefined;
  }

  function words(value: unknown, place: string): string | undefined {
    if (value === undefined) return undefined;
    if (typeof value === "string" && value.trim() !== "" && value.length <= 200) return value;
    wrong(place, "must be a text of 1 to 200 characters");
    return undefined;
  }

  function groupOf(value: unknown, place: string): DeclineGroup | undefined {
    const group = DECLINE_GROUPS.find((each) => each === value);
    if (group === undefined) wrong(place, `must be one of ${DECLINE_GROUPS.join(", ")}`);
    return group;
  }

  return { wrong, fields, entries, whole: readWholeNumber, truth: readBoolean, words, groupOf };
}
