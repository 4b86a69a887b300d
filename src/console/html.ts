const MARKUP_KEY = Symbol("markup");

/** Markup that is safe to put into a page as it is. Only `html` makes it, so nothing that came from outside is taken for it. */
export interface Html {
  readonly [MARKUP_KEY]: string;
}

/** What may stand in a template: text is escaped, markup is not, nothing is nothing. */
export type HtmlPart = Html | string | number | bigint | null | undefined | false | readonly HtmlPart[];

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

const escapeHtml = (text: string) => text.replace(/[&<>"']/g, (character) => ESCAPES[character]!);

/** A piece of a page. Attribute values must stand in quotes: escaping protects nothing without them. */
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

/** The text that goes out. */
export const htmlText = (page: Html) => page[MARKUP_KEY];
