import { posix } from "node:path";
import { escapeHtml, type Html } from "./markup.ts";

/** Without `frame-ancestors`, which a meta element ignores. */
export const CONTENT_SECURITY_POLICY =
  "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'";

export interface Link {
  label: string;
  path: string;
  method?: string;
}

export interface DocsPage {
  path: string;
  title: string;
  body: Html;
  /** For the page's contents. */
  headings: readonly { id: string; label: string }[];
}

export const pathBetween = (from: string, to: string): string => posix.relative(posix.dirname(from), to);

/** With the site's contents on the left. */
export function renderDocsPage(
  page: DocsPage,
  chapters: readonly { title: string; links: readonly Link[] }[],
  baseUrl: string,
): Html {
  const to = (path: string) => escapeHtml(pathBetween(page.path, path));
  const entry = ({ label, path, method }: Link) => {
    const isCurrent = path === page.path;
    const headings = page.headings.map(
      ({ id, label }) => `<li><a href="#${escapeHtml(id)}">${escapeHtml(label)}</a></li>`,
    );
    return `<li><a href="${to(path)}"${isCurrent ? ' aria-current="page"' : ""}>${method ? `<b class="${method}">${method.toUpperCase()}</b> ` : ""}${escapeHtml(label)}</a>${isCurrent && headings.length > 1 ? `<ul>${headings.join("")}</ul>` : ""}</li>`;
  };
  const contents = chapters.map(
    ({ title, links }) =>
      `<details${page.path === "index.html" || links.some(({ path }) => path === page.path) ? " open" : ""}><summary>${escapeHtml(title)}</summary><ul>${links.map(entry).join("\n")}</ul></details>`,
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="content-security-policy" content="${CONTENT_SECURITY_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(page.title)} · Dunlin</title>
<link rel="stylesheet" href="${to("page.css")}">
<link rel="icon" href="${to("icon.svg")}" type="image/svg+xml">
<script type="module" src="${to("search.js")}"></script>
</head>
<body>
<a class="skip" href="#main">Skip to content</a>
<nav aria-label="Contents">
<p class="name"><a href="${to("index.html")}">Dunlin</a></p>
<p><a href="${escapeHtml(baseUrl)}/overview">Console</a></p>
<search data-index="${to("search.json")}" hidden><label>Search <input type="search" autocomplete="off" spellcheck="false"></label>
<p role="status"></p><ol></ol></search>
${contents.join("\n")}
</nav>
<main id="main">
${page.body}
</main>
</body>
</html>
`;
}
