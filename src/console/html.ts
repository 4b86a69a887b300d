const MARKUP = Symbol("markup");

/** Markup that is safe to put into a page as it is. Only `html` makes it, so nothing that came from outside is taken for it. */
export interface Html {
  readonly [MARKUP]: string;
}

/** What may stand in a template: text is escaped, markup is not, nothing is nothing. */
export type Part = Html | string | number | bigint | null | undefined | false | readonly Part[];

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

const escaped = (text: string) => text.replace(/[&<>"']/g, (character) => ESCAPES[character]!);

/** A piece of a page. Attribute values must stand in quotes: escaping protects nothing without them. */
export function html(pieces: TemplateStringsArray, ...parts: readonly Part[]): Html {
  let markup = pieces[0]!;
  for (let index = 0; index < parts.length; index++) markup += rendered(parts[index]) + pieces[index + 1]!;
  return { [MARKUP]: markup };
}

function rendered(part: Part): string {
  if (part === null || part === undefined || part === false) return "";
  if (typeof part === "string") return escaped(part);
  if (typeof part !== "object") return String(part);
  if (MARKUP in part) return part[MARKUP];
  return part.map(rendered).join("");
}

/** The text that goes out. */
export const textOf = (page: Html) => page[MARKUP];
