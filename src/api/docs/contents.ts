import { readdirSync, readFileSync } from "node:fs";
import { posix, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { Marked, type Tokens } from "marked";
import { plainText } from "./markdown.ts";

const REPOSITORY_URL = new URL("../../../", import.meta.url);
/** Its lists define the site's contents. */
export const INDEX_FILE = "docs/README.md";
const DECISIONS_FOLDER = "docs/decisions";
export const isDecision = (file: string): boolean => posix.dirname(file) === DECISIONS_FOLDER;
/** From files outside docs/. */
const EXTRA_PAGES: Readonly<Record<string, string>> = {
  "sdk/README.md": "sdk.html",
  "ARCHITECTURE.md": "architecture.html",
  "CHANGELOG.md": "changelog.html",
  "openapi.json": "openapi.json",
};

export interface Entry {
  label: string;
  /** Relative to the repository's root. */
  file: string;
  about: string;
}

export interface Chapter {
  title: string;
  entries: readonly Entry[];
}

export const readRepositoryFile = (file: string): string => readFileSync(new URL(file, REPOSITORY_URL), "utf8");

/** null for a file that is not on the site. */
export function sitePathOf(file: string): string | null {
  if (file === INDEX_FILE) return "index.html";
  if (EXTRA_PAGES[file]) return EXTRA_PAGES[file];
  if (!file.startsWith("docs/")) return null;
  return file.slice("docs/".length).replace(/\.md$/, ".html");
}

export const listDocumentFiles = (): string[] =>
  readdirSync(new URL("docs", REPOSITORY_URL), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => posix.join(relative(fileURLToPath(REPOSITORY_URL), entry.parentPath), entry.name))
    .sort();

export function resolveLink(href: string, from: string): { file: string; hash: string } {
  const [path, hash] = href.split("#") as [string, string | undefined];
  return {
    file: path === "" ? from : posix.join(posix.dirname(from), path),
    hash: hash === undefined ? "" : `#${hash}`,
  };
}

/** All decision records replace the link to one. */
export function readChapters(): Chapter[] {
  const found: { title: string; entries: Entry[] }[] = [];
  for (const token of new Marked().lexer(readRepositoryFile(INDEX_FILE))) {
    if (token.type === "heading" && token.depth === 2) found.push({ title: plainText(token), entries: [] });
    if (token.type === "list") found.at(-1)!.entries.push(...(token as Tokens.List).items.flatMap(entriesOf));
  }
  return found;
}

function entriesOf(item: Tokens.ListItem): Entry[] {
  const inline = item.tokens.flatMap((token) => (token as Tokens.Text).tokens ?? []);
  const [link, ...rest] = inline;
  if (link?.type !== "link") return [];
  const about = rest.map(plainText).join("").replace(/^:\s*/, "");
  const file = resolveLink(link.href as string, INDEX_FILE).file;
  return isDecision(file) ? decisionEntries() : [{ label: plainText(link), file, about }];
}

const decisionEntries = (): Entry[] =>
  listDocumentFiles()
    .filter(isDecision)
    .map((file) => ({ label: /^# (.*)/.exec(readRepositoryFile(file))![1]!, file, about: "" }));
