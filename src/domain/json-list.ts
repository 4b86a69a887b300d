import { FileRefusedError } from "./file-refused-error.ts";

/** A record of a list, as it is written. */
export interface JsonListItem {
  /** Its place in the list, from 1: a list may stand on one line as a whole. */
  record: number;
  json: string;
}

/** Characters after which every list that begins like one is known as such. */
export const LIST_SAMPLE_CHARS = 1_000;

const listStartPattern = (name: string) => new RegExp(`^\\s*(?:\\[|\\{\\s*"${name}"\\s*:\\s*\\[)`);

/**
 * Whether a text is one JSON list of records, `[{…}, {…}]`, or a body as the API takes it, `{"invoices": [{…}]}`.
 *
 * @param begin  its first `LIST_SAMPLE_CHARS` characters, or all of it
 * @param name  of the list in a body
 */
export const isJsonList = (begin: string, name: string): boolean => listStartPattern(name).test(begin);

/**
 * Parts a JSON list into its records, as its text arrives. It reads no record: what stands between two commas is one.
 *
 * @param charsMax  what is longer is no record
 */
export function createJsonListSplitter(name: string, charsMax: number) {
  let stage: "before" | "within" | "after" = "before";
  let isBody = false;
  let kept = ""; // of what is not whole yet
  let line = 1;
  let begunOn = 0; // the line of the next record; 0: nothing of it has come
  let found = 0;
  let depth = 0;
  let isText = false;
  let isEscaped = false;

  /** @returns what is left behind the beginning of the list, or null when it has not come */
  function opened(text: string): string | null {
    kept += text;
    const opening = listStartPattern(name).exec(kept)?.[0];
    if (opening === undefined) return null;
    stage = "within";
    isBody = opening.trimStart().startsWith("{");
    line += opening.split("\n").length - 1;
    const rest = kept.slice(opening.length);
    kept = "";
    return rest;
  }

  function* within(text: string): Generator<JsonListItem> {
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
      if (begunOn === 0 && !isEnd && sign.trim() !== "") begunOn = line;
      if (sign === '"') isText = true;
      else if (sign === "{" || sign === "[") depth++;
      else if (isEnd) {
        const json = (kept + text.slice(from, at)).trim();
        kept = "";
        from = at + 1;
        if (json !== "") yield { record: ++found, json };
        else if (sign === "," || found > 0)
          throw new FileRefusedError(`line ${line}: a record is missing before "${sign}"`);
        begunOn = 0;
        if (sign === "]") {
          stage = "after";
          after(text.slice(from));
          return;
        }
      } else if (sign === "}" || sign === "]") depth--;
    }
    kept += text.slice(from);
    if (kept.length > charsMax)
      throw new FileRefusedError(`line ${begunOn || line}: it is longer than ${charsMax} characters`);
  }

  function after(text: string) {
    for (const sign of text) {
      if (sign === "\n") line++;
      else if (sign === "}" && isBody) isBody = false;
      else if (sign.trim() !== "")
        throw new FileRefusedError(`line ${line}: something stands behind the list of ${name}`);
    }
  }

  return {
    /** @throws FileRefused at what is no list of records */
    *take(text: string): Generator<JsonListItem> {
      if (stage === "after") return after(text);
      const inside = stage === "within" ? text : opened(text);
      if (inside !== null) yield* within(inside);
    },
    /** @throws FileRefused when the list has no end */
    end() {
      if (stage !== "after" || isBody) throw new FileRefusedError(`line ${line}: the list of ${name} has no end`);
    },
  };
}
