import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Rule } from "../openapi/beyond-schema.ts";
import type { Part } from "../openapi/field-schema.ts";
import type { Follow } from "./fields.ts";
import { code, escaped, type Html, inline, prose, table } from "./markup.ts";
import { type Operation, operationSection, type Placed } from "./operation-section.ts";

const STYLE = readFileSync(new URL("page.css", import.meta.url), "utf8");

/** Nothing is loaded from anywhere and nothing runs: the one style sheet stands in the page and is named by its hash. */
export const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash("sha256").update(STYLE).digest("base64")}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

interface Document extends Part {
  info: { title: string; version: string; description: string };
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  webhooks: Record<string, { post: Operation }>;
  components: Record<string, Record<string, Part>>;
  "x-rules-beyond-schema": Rule[];
}

/**
 * The page for people: the whole document in one piece of HTML.
 *
 * @param text  an OpenAPI document as `openApiText` writes it
 */
export function docsPage(text: string, baseUrl: string): Html {
  const document = JSON.parse(text) as Document;
  const { info, tags } = document;
  const follow = followIn(document);
  const operations = placed(document);
  const of = (tag: string) => operations.filter(({ operation }) => operation.tags[0] === tag);
  const sections = tags.map(({ name, description }) => {
    const each = of(name).map((one) => operationSection(one, follow, baseUrl));
    return `<h2 id="${idOf(name)}">${escaped(name)}</h2>\n${prose(description)}\n${each.join("\n")}`;
  });
  const entries = tags.map(
    ({ name }) => `<li><a href="#${idOf(name)}">${escaped(name)}</a><ul>${of(name).map(entry).join("")}</ul></li>`,
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>The API of ${escaped(info.title)}</title>
<style>${STYLE}</style>
</head>
<body>
<a class="skip" href="#main">To the content</a>
<nav aria-label="Operations">
<p class="name"><a href="#main">${escaped(info.title)}</a> <small>API ${escaped(info.version)}</small></p>
<ul>
${entries.join("\n")}
<li><a href="#rules">Rules beyond the schemas</a></li>
<li><a href="/openapi.json">openapi.json</a></li>
</ul>
</nav>
<main id="main">
<h1>The API of ${escaped(info.title)}</h1>
<p class="server">${code(baseUrl)}</p>
${prose(info.description)}
${prose(HOW_TO)}
${sections.join("\n")}
<h2 id="rules">Rules beyond the schemas</h2>
${prose("What no JSON Schema can say. On everything else a validator made from `openapi.json` agrees with the service.")}
${table(
  ["Rule", "Answer"],
  document["x-rules-beyond-schema"].map(({ rule, status }) => [inline(rule), `<b class="status">${status}</b>`]),
)}
</main>
</body>
</html>
`;
}

const HOW_TO =
  "The calls below take the key from `DUNLIN_API_KEY`. With the certificate that Dunlin made itself, add `--cacert data/tls/ca.pem`.";

const idOf = (tag: string) => escaped(tag.toLowerCase().replaceAll(" ", "-"));

const entry = ({ method, path, operation }: Placed): Html =>
  `<li><a href="#${escaped(operation.operationId)}"><b class="${escaped(method)}">${escaped(method.toUpperCase())}</b> ${escaped(path?.split("/").at(-1) ?? operation.summary.replace("Event ", ""))}</a></li>`;

function placed({ paths, webhooks }: Document): Placed[] {
  const inbound = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  );
  return [...inbound, ...Object.values(webhooks).map(({ post }) => ({ method: "post", path: null, operation: post }))];
}

const followIn = ({ components }: Document): Follow =>
  function follow<T>(part: T | { $ref: string }): T {
    const ref = (part as { $ref?: string }).$ref;
    if (ref === undefined) return part as T;
    const [, , kind, name] = ref.split("/") as [string, string, string, string];
    return components[kind]![name] as T;
  };
