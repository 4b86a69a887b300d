import { setImmediate as turn } from "node:timers/promises";
import { buildReferencePages, type ReferencePage } from "./api-reference.ts";
import { type Chapter, INDEX_FILE, readChapters, readRepositoryFile, resolveLink, sitePathOf } from "./contents.ts";
import { type DocsPage, type Link, pathBetween, renderDocsPage } from "./docs-layout.ts";
import { buildHttpFile } from "./http-file.ts";
import { buildLlmsText } from "./llms.ts";
import { type Article, readMarkdown, type Section } from "./markdown.ts";
import { unescapeHtml } from "./markup.ts";

/** After this document of the index come the pages that are made from openapi.json. */
const BEFORE_REFERENCE = "docs/reference/api.md";
const ASSET_FILES: Readonly<Record<string, string>> = {
  "page.css": "src/api/docs/page.css",
  "search.js": "src/api/docs/search.js",
  "icon.svg": "src/console/assets/console.svg",
};
const CONTENT_TYPES: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  json: "application/json; charset=utf-8",
  svg: "image/svg+xml",
};

/** Path from the root of the site, and what is there. */
export type Site = ReadonlyMap<string, string>;

/** What a file of the site is served as. */
export const contentTypeOf = (path: string): string =>
  CONTENT_TYPES[path.split(".").at(-1)!] ?? "text/plain; charset=utf-8";

/**
 * Everything that people read, made of the files of docs/ and of an OpenAPI document. Gives way to other work between pages.
 *
 * @param openApi  as `buildOpenApiText` writes it
 * @param baseUrl  how this installation is called
 */
export async function buildSite(openApi: string, baseUrl: string): Promise<Site> {
  const found = readChapters();
  const reference = buildReferencePages(openApi, baseUrl);
  const menu = found.map((chapter) => ({ title: chapter.title, links: linksOf(chapter, reference) }));
  const site = new Map<string, string>();
  const index: SearchEntry[] = [];
  const add = (page: DocsPage, sections: readonly Section[]) => {
    site.set(page.path, renderDocsPage(page, menu, baseUrl));
    index.push(...sections.map(({ id, heading, text }) => searchEntryOf(page, id, heading, text)));
  };
  const source = (path: string) => path.replace(/html$/, "md");
  for (const file of [INDEX_FILE, ...found.flatMap(({ entries }) => entries.map((entry) => entry.file))]) {
    const text = readRepositoryFile(file);
    const path = sitePathOf(file)!;
    if (path.endsWith(".html")) {
      const article = readMarkdown(text, { link: (href) => linkFrom(file, href), baseUrl });
      add(pageOf(path, article), article.sections);
    }
    // Programs read the sources.
    site.set(source(path), text);
    await turn();
  }
  for (const { path, title, body } of reference) add({ path, title, body, parts: [] }, [sectionOf(title, body)]);
  for (const [path, file] of Object.entries(ASSET_FILES)) site.set(path, readRepositoryFile(file));
  site.set("openapi.json", openApi);
  site.set("reference/dunlin.http", buildHttpFile(openApi, baseUrl));
  site.set(
    "llms.txt",
    buildLlmsText(openApi, (file) => source(sitePathOf(file)!)),
  );
  site.set("search.json", JSON.stringify(index));
  return site;
}

/** `[path, title of the page, heading, text]`: what a browser searches. */
type SearchEntry = readonly [path: string, title: string, heading: string, text: string];

const searchEntryOf = ({ path, title }: DocsPage, id: string | null, heading: string, text: string): SearchEntry => [
  id === null ? path : `${path}#${id}`,
  title,
  heading === title ? "" : heading,
  text.replaceAll(/\s+/g, " ").trim(),
];

const pageOf = (path: string, { title, html, sections }: Article): DocsPage => {
  const parts = sections.filter(({ depth }) => depth === 2).map(({ id, heading }) => ({ id: id!, words: heading }));
  return { path, title, body: html, parts };
};

/** The words of a page that was no markdown. */
const sectionOf = (heading: string, body: string): Section => ({
  id: null,
  heading,
  depth: 1,
  text: unescapeHtml(body.replaceAll(/<[^>]+>/g, " ")),
});

const linksOf = ({ entries }: Chapter, reference: readonly ReferencePage[]): Link[] =>
  entries.flatMap(({ words, file }) => [
    { words, path: sitePathOf(file)! },
    ...(file === BEFORE_REFERENCE
      ? reference.map(({ path, title, method }) => ({ words: title, path, ...(method !== null && { method }) }))
      : []),
  ]);

/** A link of a document as a link of its page; null: it leads out of the site. */
function linkFrom(file: string, href: string): string | null {
  if (/^https:/.test(href)) return href;
  const { file: target, hash } = resolveLink(href, file);
  const path = sitePathOf(target);
  if (path === null) return null;
  return target === file ? hash : pathBetween(sitePathOf(file)!, path) + hash;
}
