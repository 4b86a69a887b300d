import { readdirSync, readFileSync } from "node:fs";
import { posix, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { Marked, type Tokens } from "marked";
import { plainText } from "./markdown.ts";

const REPOSITORY_URL = new URL("../../../", import.meta.url);
/** The page that everything is reached from; its lists are the contents of the site. */
export const INDEX_FILE = "docs/README.md";
const DECISIONS_FOLDER = "docs/decisions";
/** Whether a file is one of the decisions, which are all listed together. */
export const isDecision = (file: string): boolean => posix.dirname(file) === DECISIONS_FOLDER;
/** Files outside of docs/ that are pages too, and under which name. */
const EXTRA_PAGES: Readonly<Record<string, string>> = {
  "sdk/README.md": "sdk.html",
  "ARCHITECTURE.md": "architecture.html",
  "CHANGELOG.md": "changelog.html",
  "openapi.json": "openapi.json",
};

export interface Entry {
  words: string;
  /** The file in the repository. */
  file: string;
  /** What the index says of it. */
  about: string;
}

export interface Chapter {
  title: string;
  entries: readonly Entry[];
}

/** A file of the repository, as text. */
export const readRepositoryFile = (file: string): string => readFileSync(new URL(file, REPOSITORY_URL), "utf8");

/** Where a file of the repository is on the site; null: it is not a part of it. */
export function sitePathOf(file: string): string | null {
  if (file === INDEX_FILE) return "index.html";
  if (EXTRA_PAGES[file]) return EXTRA_PAGES[file];
  if (!file.startsWith("docs/")) return null;
  return file.slice("docs/".length).replace(/\.md$/, ".html");
}

/** Every file of markdown under docs/, and everything else that people read there. */
export const listDocumentFiles = (): string[] =>
  readdirSync(new URL("docs", REPOSITORY_URL), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => posix.join(relative(fileURLToPath(REPOSITORY_URL), entry.parentPath), entry.name))
    .sort();

/** A link as it stands in a file of the repository, as a file of the repository and what follows `#`. */
export function resolveLink(href: string, from: string): { file: string; hash: string } {
  const [path, hash] = href.split("#") as [string, string | undefined];
  return {
    file: path === "" ? from : posix.join(posix.dirname(from), path),
    hash: hash === undefined ? "" : `#${hash}`,
  };
}

/** The chapters of the index, each a heading with a list of links; decisions are all listed where the first one is. */
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
  return isDecision(file) ? decisionEntries() : [{ words: plainText(link), file, about }];
}

const decisionEntries = (): Entry[] =>
  listDocumentFiles()
    .filter(isDecision)
    .map((file) => ({ words: /^# (.*)/.exec(readRepositoryFile(file))![1]!, file, about: "" }));
