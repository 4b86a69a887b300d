import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import { buildReferencePages, type ReferencePage } from "./api-reference.ts";
import { type Chapter, INDEX_FILE, readChapters, readRepositoryFile, resolveLink, sitePathOf } from "./contents.ts";
import { type DocsPage, type Link, pathBetween, renderDocsPage } from "./docs-layout.ts";
import { buildHttpFile } from "./http-file.ts";
import { buildLlmsText } from "./llms.ts";
import { type Article, readMarkdown, type Section } from "./markdown.ts";
import { unescapeHtml } from "./markup.ts";

/** The pages made from openapi.json follow. */
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

export type Site = ReadonlyMap<string, string>;

export const contentTypeOf = (path: string): string =>
  CONTENT_TYPES[path.split(".").at(-1)!] ?? "text/plain; charset=utf-8";

export async function buildSite(openApi: string, baseUrl: string): Promise<Site> {
  const chapters = readChapters();
  const reference = buildReferencePages(openApi, baseUrl);
  const menu = chapters.map((chapter) => ({ title: chapter.title, links: linksOf(chapter, reference) }));
  const site = new Map<string, string>();
  const searchIndex: SearchEntry[] = [];
  const add = (page: DocsPage, sections: readonly Section[]) => {
    site.set(page.path, renderDocsPage(page, menu, baseUrl));
    searchIndex.push(...sections.map(({ id, heading, text }) => searchEntryOf(page, id, heading, text)));
  };
  const sourcePath = (path: string) => path.replace(/html$/, "md");
  for (const file of [INDEX_FILE, ...chapters.flatMap(({ entries }) => entries.map((entry) => entry.file))]) {
    const text = readRepositoryFile(file);
    const path = sitePathOf(file)!;
    if (path.endsWith(".html")) {
      const article = readMarkdown(text, { link: (href) => linkFrom(file, href), baseUrl });
      add(pageOf(path, article), article.sections);
    }
    site.set(sourcePath(path), text);
    await yieldToEventLoop();
  }
  for (const { path, title, body } of reference) add({ path, title, body, headings: [] }, [sectionOf(title, body)]);
  for (const [path, file] of Object.entries(ASSET_FILES)) site.set(path, readRepositoryFile(file));
  site.set("openapi.json", openApi);
  site.set("reference/dunlin.http", buildHttpFile(openApi, baseUrl));
  site.set(
    "llms.txt",
    buildLlmsText(openApi, (file) => sourcePath(sitePathOf(file)!)),
  );
  site.set("search.json", JSON.stringify(searchIndex));
  return site;
}

type SearchEntry = readonly [path: string, title: string, heading: string, text: string];

const searchEntryOf = ({ path, title }: DocsPage, id: string | null, heading: string, text: string): SearchEntry => [
  id === null ? path : `${path}#${id}`,
  title,
  heading === title ? "" : heading,
  text.replaceAll(/\s+/g, " ").trim(),
];

const pageOf = (path: string, { title, html, sections }: Article): DocsPage => {
  const headings = sections.filter(({ depth }) => depth === 2).map(({ id, heading }) => ({ id: id!, label: heading }));
  return { path, title, body: html, headings };
};

const sectionOf = (heading: string, body: string): Section => ({
  id: null,
  heading,
  depth: 1,
  text: unescapeHtml(body.replaceAll(/<[^>]+>/g, " ")),
});

const linksOf = ({ entries }: Chapter, reference: readonly ReferencePage[]): Link[] =>
  entries.flatMap(({ label, file }) => [
    { label, path: sitePathOf(file)! },
    ...(file === BEFORE_REFERENCE
      ? reference.map(({ path, title, method }) => ({ label: title, path, ...(method !== null && { method }) }))
      : []),
  ]);

/** null if the target is not on the site. */
function linkFrom(file: string, href: string): string | null {
  if (/^https:/.test(href)) return href;
  const { file: target, hash } = resolveLink(href, file);
  const path = sitePathOf(target);
  if (path === null) return null;
  return target === file ? hash : pathBetween(sitePathOf(file)!, path) + hash;
}
