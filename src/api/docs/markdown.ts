import { Marked, type Token, type Tokens } from "marked";
import { escapeHtml, type Html, unescapeHtml } from "./markup.ts";

export interface Section {
  /** null for the text below the title. */
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
  link(href: string): string | null;
  /** Replaces `LOCAL_URL` in shell examples. */
  baseUrl: string;
}

const LOCAL_URL = "https://localhost:8443";
/** Documents may hold no HTML except anchors. */
const ANCHOR_TAG = /^(<a id="[\w-]+">(<\/a>\s*)?|<\/a>)$/;

/**
 * Converts Markdown to HTML. The first heading is the title; the others get the ids that code hosts give them.
 *
 * @throws Error if a link leads nowhere, or the file holds HTML other than an anchor
 */
export function readMarkdown(text: string, { link, baseUrl }: MarkdownOptions): Article {
  const parser = new Marked({ gfm: true });
  const tokens = parser.lexer(text);
  const ids = new Map<Token, string>();
  const countsBySlug = new Map<string, number>();
  parser.walkTokens(tokens, (token) => {
    if (token.type !== "heading") return;
    const slug = slugOf(plainText(token));
    const count = countsBySlug.get(slug) ?? 0;
    countsBySlug.set(slug, count + 1);
    ids.set(token, count === 0 ? slug : `${slug}-${count}`);
  });
  const headingIds = new Set(ids.values());
  parser.use({
    renderer: {
      heading(token) {
        const label = this.parser.parseInline(token.tokens);
        if (token.depth === 1) return `<h1>${label}</h1>\n`;
        const id = escapeHtml(ids.get(token)!);
        return `<h${token.depth} id="${id}"><a href="#${id}">${label}</a></h${token.depth}>\n`;
      },
      code({ text: lines, lang }) {
        // Focusable, so that wide blocks can be scrolled with the keyboard.
        const shown = lang === "sh" ? lines.replaceAll(LOCAL_URL, baseUrl) : lines;
        return `<pre tabindex="0">${escapeHtml(shown)}</pre>\n`;
      },
      link({ href, tokens: labelTokens }) {
        const target = link(href);
        if (target === null) throw new Error(`a link to ${href}, which leads nowhere`);
        return `<a href="${escapeHtml(target)}">${this.parser.parseInline(labelTokens)}</a>`;
      },
      html({ text: markup }) {
        if (!ANCHOR_TAG.test(markup)) throw new Error(`HTML in a document: ${markup}`);
        // A heading may have the id already.
        return headingIds.has(/"(.*)"/.exec(markup)?.[1] ?? "") ? markup.replace(/ id=".*"/, "") : markup;
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

export function plainText(token: Token): string {
  if (token.type === "table") {
    const { header, rows } = token as Tokens.Table;
    return [header, ...rows].flatMap((row) => row.map(({ tokens }) => tokens.map(plainText).join(""))).join(" ");
  }
  if (token.type === "list") return (token as Tokens.List).items.map(plainText).join(" ");
  const { tokens, text } = token as { tokens?: Token[]; text?: string };
  // The lexer escapes some texts.
  return tokens ? tokens.map(plainText).join("") : unescapeHtml(text ?? "");
}

const slugOf = (text: string) =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replaceAll(/\s/g, "-");
