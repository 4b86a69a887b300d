import { Marked, type Token, type Tokens } from "marked";
import { escapeHtml, type Html, unescapeHtml } from "./markup.ts";

/** What stands under one heading, as plain text. */
export interface Section {
  /** Null: above the first heading below the title. */
  id: string | null;
  heading: string;
  depth: number;
  text: string;
}

export interface Article {
  title: string;
  html: Html;
  sections: readonly Section[];
}

interface MarkdownOptions {
  /** What a link in the file leads to; null: nowhere. */
  link(href: string): string | null;
  /** How this installation is called, in the place of the address that examples are written with. */
  baseUrl: string;
}

const LOCAL_URL = "https://localhost:8443";
/** The only markup that a document may hold: a name to link to. */
const ANCHOR_TAG = /^(<a id="[\w-]+">(<\/a>\s*)?|<\/a>)$/;

/** A file of markdown: its first heading is its title, the others can be linked to by the names that code hosts give them. */
export function readMarkdown(text: string, { link, baseUrl }: MarkdownOptions): Article {
  const parser = new Marked({ gfm: true });
  const tokens = parser.lexer(text);
  const ids = new Map<Token, string>();
  const taken = new Map<string, number>();
  parser.walkTokens(tokens, (token) => {
    if (token.type !== "heading") return;
    const slug = slugOf(plainText(token));
    const before = taken.get(slug) ?? 0;
    taken.set(slug, before + 1);
    ids.set(token, before === 0 ? slug : `${slug}-${before}`);
  });
  const names = new Set(ids.values());
  parser.use({
    renderer: {
      heading(token) {
        const words = this.parser.parseInline(token.tokens);
        if (token.depth === 1) return `<h1>${words}</h1>\n`;
        const id = escapeHtml(ids.get(token)!);
        return `<h${token.depth} id="${id}"><a href="#${id}">${words}</a></h${token.depth}>\n`;
      },
      code({ text: lines, lang }) {
        // It can be reached by the keyboard, because it may be too wide.
        const shown = lang === "sh" ? lines.replaceAll(LOCAL_URL, baseUrl) : lines;
        return `<pre tabindex="0">${escapeHtml(shown)}</pre>\n`;
      },
      link({ href, tokens: words }) {
        const target = link(href);
        if (target === null) throw new Error(`a link to ${href}, which leads nowhere`);
        return `<a href="${escapeHtml(target)}">${this.parser.parseInline(words)}</a>`;
      },
      html({ text: markup }) {
        if (!ANCHOR_TAG.test(markup)) throw new Error(`markup in a document: ${markup}`);
        // A heading that has this name already needs it no second time.
        return names.has(/"(.*)"/.exec(markup)?.[1] ?? "") ? markup.replace(/ id=".*"/, "") : markup;
      },
      table({ header, rows }) {
        const cells = (row: Tokens.TableCell[], tag: string) =>
          row.map((cell) => `<${tag}>${this.parser.parseInline(cell.tokens)}</${tag.split(" ")[0]}>`).join("");
        const body = rows.map((row) => `<tr>${cells(row, "td")}</tr>`).join("\n");
        return `<div class="wide" tabindex="0"><table><thead><tr>${cells(header, 'th scope="col"')}</tr></thead><tbody>\n${body}\n</tbody></table></div>\n`;
      },
    },
  });
  const sections = sectionsOf(tokens, ids);
  return { title: sections[0]!.heading, html: parser.parser(tokens), sections };
}

function sectionsOf(tokens: readonly Token[], ids: ReadonlyMap<Token, string>): Section[] {
  const sections: Section[] = [];
  for (const token of tokens) {
    if (token.type === "heading")
      sections.push({
        id: token.depth === 1 ? null : ids.get(token)!,
        heading: plainText(token),
        depth: token.depth,
        text: "",
      });
    else if (token.type !== "html") sections.at(-1)!.text += `${plainText(token)} `;
  }
  return sections;
}

/** The words of a token, without what marks them up. */
export function plainText(token: Token): string {
  if (token.type === "table") {
    const { header, rows } = token as Tokens.Table;
    return [header, ...rows].flatMap((row) => row.map(({ tokens }) => tokens.map(plainText).join(""))).join(" ");
  }
  if (token.type === "list") return (token as Tokens.List).items.map(plainText).join(" ");
  const { tokens, text } = token as { tokens?: Token[]; text?: string };
  // The lexer itself escapes some texts.
  return tokens ? tokens.map(plainText).join("") : unescapeHtml(text ?? "");
}

const slugOf = (words: string) =>
  words
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replaceAll(/\s/g, "-");
