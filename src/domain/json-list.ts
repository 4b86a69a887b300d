import { FileRefusedError } from "./file-refused-error.ts";

export interface JsonListItem {
  /** From 1. Lists on one line have useless line numbers. */
  record: number;
  json: string;
}

export const LIST_SAMPLE_CHARS = 1_000;

const listStartPattern = (name: string) => new RegExp(`^\\s*(?:\\[|\\{\\s*"${name}"\\s*:\\s*\\[)`);

/**
 * Recognizes `[{…}, {…}]`, or an API body: `{"invoices": [{…}]}`.
 *
 * @param begin  the first `LIST_SAMPLE_CHARS` characters
 * @param name  the list in a body
 */
export const isJsonList = (begin: string, name: string): boolean => listStartPattern(name).test(begin);

/**
 * Splits a list into unparsed records as its text arrives.
 *
 * @param charsMax  the longest record
 */
export function createJsonListSplitter(name: string, charsMax: number) {
  let stage: "before" | "within" | "after" = "before";
  let isBody = false;
  let pending = ""; // text of an incomplete record
  let line = 1;
  let recordLine = 0; // 0 before the next record's first character
  let recordCount = 0;
  let depth = 0;
  let isText = false;
  let isEscaped = false;

  /** Null if the start is incomplete. */
  function readStart(text: string): string | null {
    pending += text;
    const opening = listStartPattern(name).exec(pending)?.[0];
    if (opening === undefined) return null;
    stage = "within";
    isBody = opening.trimStart().startsWith("{");
    line += opening.split("\n").length - 1;
    const rest = pending.slice(opening.length);
    pending = "";
    return rest;
  }

  function* readRecords(text: string): Generator<JsonListItem> {
    let from = 0;
    for (let at = 0; at < text.length; at++) {
      const sign = text[at]!;
      if (sign === "\n") line++;
      if (isText) {
        if (isEscaped) isEscaped = false;
        else if (sign === "\\") isEscaped = true;
        else if (sign === '"') isText = false;
        continue;
      }
      const isEnd = depth === 0 && (sign === "," || sign === "]");
      if (recordLine === 0 && !isEnd && sign.trim() !== "") recordLine = line;
      if (sign === '"') isText = true;
      else if (sign === "{" || sign === "[") depth++;
      else if (isEnd) {
        const json = (pending + text.slice(from, at)).trim();
        pending = "";
        from = at + 1;
        if (json !== "") yield { record: ++recordCount, json };
        else if (sign === "," || recordCount > 0)
          throw new FileRefusedError(`line ${line}: a record is missing before "${sign}"`);
        recordLine = 0;
        if (sign === "]") {
          stage = "after";
          readEnd(text.slice(from));
          return;
        }
      } else if (sign === "}" || sign === "]") depth--;
    }
    pending += text.slice(from);
    if (pending.length > charsMax)
      throw new FileRefusedError(`line ${recordLine || line}: it is longer than ${charsMax} characters`);
  }

  function readEnd(text: string) {
    for (const sign of text) {
      if (sign === "\n") line++;
      else if (sign === "}" && isBody) isBody = false;
      else if (sign.trim() !== "")
        throw new FileRefusedError(`line ${line}: unexpected text after the list of ${name}`);
    }
  }

  return {
    /** @throws FileRefusedError */
    *take(text: string): Generator<JsonListItem> {
      if (stage === "after") return readEnd(text);
      const inside = stage === "within" ? text : readStart(text);
      if (inside !== null) yield* readRecords(inside);
    },
    /** @throws FileRefusedError if the list is not closed */
    end() {
      if (stage !== "after" || isBody) throw new FileRefusedError(`line ${line}: the list of ${name} is not closed`);
    },
  };
}
