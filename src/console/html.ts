const MARKUP_KEY = Symbol("markup");

/** Only `html` creates this safe markup. */
export interface Html {
  readonly [MARKUP_KEY]: string;
}

/** Text is escaped, markup is not, and empty values add nothing. */
export type HtmlPart = Html | string | number | bigint | null | undefined | false | readonly HtmlPart[];

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

const escapeHtml = (text: string) => text.replace(/[&<>"']/g, (character) => ESCAPES[character]!);

/** Quote attribute values, because escaping does not protect unquoted ones. */
export function html(pieces: TemplateStringsArray, ...parts: readonly HtmlPart[]): Html {
  let markup = pieces[0]!;
  for (let index = 0; index < parts.length; index++) markup += renderPart(parts[index]) + pieces[index + 1]!;
  return { [MARKUP_KEY]: markup };
}

function renderPart(part: HtmlPart): string {
  if (part === null || part === undefined || part === false) return "";
  if (typeof part === "string") return escapeHtml(part);
  if (typeof part !== "object") return String(part);
  if (MARKUP_KEY in part) return part[MARKUP_KEY];
  return part.map(renderPart).join("");
}

export const htmlText = (page: Html) => page[MARKUP_KEY];
