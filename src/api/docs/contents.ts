import { readdirSync, readFileSync } from "node:fs";
import { posix, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { Marked, type Tokens } from "marked";
import { plain } from "./markdown.ts";

const ROOT = new URL("../../../", import.meta.url);
/** The page that everything is reached from; its lists are the contents of the site. */
export const INDEX = "docs/README.md";
const DECISIONS = "docs/decisions";
/** Whether a file is one of the decisions, which are all listed together. */
export const isDecision = (file: string): boolean => posix.dirname(file) === DECISIONS;
/** Files outside of docs/ that are pages too, and under which name. */
const BESIDE: Readonly<Record<string, string>> = {
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
export const readRepositoryFile = (file: string): string => readFileSync(new URL(file, ROOT), "utf8");

/** Where a file of the repository is on the site; null: it is not a part of it. */
export function siteOf(file: string): string | null {
  if (file === INDEX) return "index.html";
  if (BESIDE[file]) return BESIDE[file];
  if (!file.startsWith("docs/")) return null;
  return file.slice("docs/".length).replace(/\.md$/, ".html");
}

/** Every file of markdown under docs/, and everything else that people read there. */
export const documentFiles = (): string[] =>
  readdirSync(new URL("docs", ROOT), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => posix.join(relative(fileURLToPath(ROOT), entry.parentPath), entry.name))
    .sort();

/** A link as it stands in a file of the repository, as a file of the repository and what follows `#`. */
export function resolved(href: string, from: string): { file: string; hash: string } {
  const [path, hash] = href.split("#") as [string, string | undefined];
  return {
    file: path === "" ? from : posix.join(posix.dirname(from), path),
    hash: hash === undefined ? "" : `#${hash}`,
  };
}

/** The chapters of the index, each a heading with a list of links; decisions are all listed where the first one is. */
export function chapters(): Chapter[] {
  const found: { title: string; entries: Entry[] }[] = [];
  for (const token of new Marked().lexer(readRepositoryFile(INDEX))) {
    if (token.type === "heading" && token.depth === 2) found.push({ title: plain(token), entries: [] });
    if (token.type === "list") found.at(-1)!.entries.push(...(token as Tokens.List).items.flatMap(entryOf));
  }
  return found;
}

function entryOf(item: Tokens.ListItem): Entry[] {
  const inline = item.tokens.flatMap((token) => (token as Tokens.Text).tokens ?? []);
  const [link, ...rest] = inline;
  if (link?.type !== "link") return [];
  const about = rest.map(plain).join("").replace(/^:\s*/, "");
  const file = resolved(link.href as string, INDEX).file;
  return isDecision(file) ? decisions() : [{ words: plain(link), file, about }];
}

const decisions = (): Entry[] =>
  documentFiles()
    .filter(isDecision)
    .map((file) => ({ words: /^# (.*)/.exec(readRepositoryFile(file))![1]!, file, about: "" }));
