import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { marked } from "marked";

/** The values that a template may name, as in `{{amount}}`. */
export const PLACEHOLDERS = ["name", "merchant", "amount", "number", "card", "payUrl", "unsubscribeUrl"] as const;
export type MessageValues = Record<(typeof PLACEHOLDERS)[number], string>;

export interface RenderedMessage {
  language: string;
  subject: string;
  text: string;
  html: string;
}

/** Templates by brand (an empty name: no brand) and language. */
export interface Templates {
  /** @param languages  the customer's, best first, such as `de-AT` */
  render(brand: string | undefined, languages: readonly string[], values: MessageValues): RenderedMessage;
  languages: string[];
}

interface Template {
  subject: string;
  /** Stands for a card that is not known. */
  card: string;
  body: string;
}

const FILE_NAME = /^card-change\.([a-z]{2}(?:-[A-Z]{2})?)\.md$/;
const REQUIRED = ["payUrl", "unsubscribeUrl"] as const;
const FALLBACK = "en";

/** A template that cannot be used, with its place. */
export class TemplateError extends Error {}

/**
 * Reads `card-change.LANGUAGE.md` from folders, and from their subfolders, which are brands. A later folder replaces files of an earlier
 * one.
 *
 * @throws TemplateError
 */
export function loadTemplates(folders: readonly string[]): Templates {
  const brands = new Map<string, Map<string, Template>>();
  for (const folder of folders) {
    if (!existsSync(folder)) throw new TemplateError(`${folder} does not exist`);
    for (const entry of readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1)))
      if (entry.isDirectory()) readFolder(join(folder, entry.name), entry.name);
    readFolder(folder, "");
  }

  function readFolder(folder: string, brand: string) {
    const templates = brands.get(brand) ?? new Map<string, Template>();
    brands.set(brand, templates);
    for (const name of readdirSync(folder).sort()) {
      if (!name.endsWith(".md")) continue;
      const language = FILE_NAME.exec(name)?.[1];
      const path = join(folder, name);
      if (language === undefined)
        throw new TemplateError(`${path}: the name must be like card-change.en.md or card-change.de-AT.md`);
      templates.set(language, parseTemplate(path, readFileSync(path, "utf8")));
    }
  }

  function find(brand: string | undefined, languages: readonly string[]): [string, Template] {
    const wanted = [...languages.flatMap((each) => [each, each.split("-")[0]!]), FALLBACK];
    const own = brand === undefined ? undefined : brands.get(brand);
    for (const templates of [own, brands.get("")])
      for (const language of wanted) {
        const template = templates?.get(language);
        if (template) return [language, template];
      }
    throw new TemplateError(`there is no card-change.${FALLBACK}.md`);
  }
  find(undefined, []);
  return {
    languages: [...brands.get("")!.keys()],
    render(brand, languages, values) {
      const [language, { subject, card, body }] = find(brand, languages);
      const filled = { ...values, card: values.card || card };
      return {
        language,
        subject: fill(subject, filled),
        text: renderText(body, filled),
        html: renderHtml(body, filled),
      };
    },
  };
}

function parseTemplate(path: string, source: string): Template {
  const lines = source.replaceAll("\r\n", "\n").split("\n");
  const subject = /^Subject: (.+)$/.exec(lines[0] ?? "")?.[1];
  if (subject === undefined) throw new TemplateError(`${path}:1: the first line must be "Subject: …"`);
  const card = /^Card: (.+)$/.exec(lines[1] ?? "")?.[1];
  for (const [index, line] of lines.entries())
    for (const [whole, name] of line.matchAll(/\{\{\s*([^}]*?)\s*\}\}/g))
      if (!PLACEHOLDERS.some((each) => each === name))
        throw new TemplateError(`${path}:${index + 1}: ${whole} is not known; use ${PLACEHOLDERS.join(", ")}`);
  const body = lines
    .slice(card === undefined ? 1 : 2)
    .join("\n")
    .trim();
  for (const name of REQUIRED)
    if (!body.includes(`{{${name}}}`)) throw new TemplateError(`${path}: the text must contain {{${name}}}`);
  if (card === undefined && body.includes("{{card}}"))
    throw new TemplateError(`${path}:2: the second line must be "Card: …", the words for a card that is not known`);
  return { subject, card: card ?? "", body };
}

const fill = (text: string, values: MessageValues, write: (value: string) => string = (value) => value) =>
  text.replaceAll(/\{\{\s*([a-zA-Z]+)\s*\}\}/g, (_, name: keyof MessageValues) => write(values[name]));

/** A link becomes its words and its address. */
const renderText = (body: string, values: MessageValues) =>
  `${fill(body.replaceAll(/\[([^\]]+)\]\(([^)]+)\)/g, "$1: $2").replaceAll(/\*\*|^#+ /gm, ""), values)}\n`;

/** Names and amounts come from outside: they are put in as text after the Markdown has become HTML. */
function renderHtml(body: string, values: MessageValues): string {
  const marks = body.replaceAll(/\{\{\s*([a-zA-Z]+)\s*\}\}/g, (_, name: string) => `xVALUEx${name}x`);
  const html = marked.parse(marks, { async: false });
  const filled = html.replaceAll(/xVALUEx([a-zA-Z]+?)x/g, (_, name: keyof MessageValues) => escapeHtml(values[name]));
  return `<!doctype html><html><body style="font-family:sans-serif;line-height:1.5">\n${filled}</body></html>\n`;
}

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};
const escapeHtml = (text: string) => text.replaceAll(/[&<>"']/g, (char) => ESCAPES[char]!);
