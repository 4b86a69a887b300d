import type { DocumentPart } from "../openapi/field-schema.ts";
import type { DocumentedRule } from "../openapi/rules-beyond-schema.ts";
import type { ResolveRef } from "./field-table.ts";
import { escapeHtml, type Html, htmlTable, inlineCode, renderInline, renderProse } from "./markup.ts";
import { type Operation, type PlacedOperation, renderOperation } from "./operation-body.ts";

interface OpenApiDocument extends DocumentPart {
  info: { title: string; version: string; description: string };
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  webhooks: Record<string, { post: Operation }>;
  components: Record<string, Record<string, DocumentPart>>;
  "x-rules-beyond-schema": DocumentedRule[];
}

export interface ReferencePage {
  path: string;
  title: string;
  body: Html;
  method: string | null;
}

/** Builds an overview, a page per operation and event, and the rules beyond the schemas. */
export function buildReferencePages(text: string, baseUrl: string): ReferencePage[] {
  const document = JSON.parse(text) as OpenApiDocument;
  const resolveRef = createRefResolver(document);
  const operations = listOperations(document).map(
    (one): ReferencePage => ({
      path: pagePathOf(one.operation),
      title: one.operation.summary,
      body: renderOperation(one, resolveRef, baseUrl),
      method: one.method,
    }),
  );
  return [
    { path: "api/index.html", title: "Operations and events", body: overviewBody(document, baseUrl), method: null },
    ...operations,
    { path: "api/rules.html", title: "Rules beyond the schemas", body: rulesBody(document), method: null },
  ];
}

const pagePathOf = ({ operationId }: Operation) => `api/${operationId}.html`;

function overviewBody(document: OpenApiDocument, baseUrl: string): Html {
  const all = listOperations(document);
  const lists = document.tags.map(({ name, description }) => {
    const entries = all
      .filter(({ operation }) => operation.tags[0] === name)
      .map(({ method, path, operation }) => {
        const label =
          path === null ? escapeHtml(operation.summary) : `${escapeHtml(operation.summary)} ${inlineCode(path)}`;
        return `<li><b class="${escapeHtml(method)}">${escapeHtml(method.toUpperCase())}</b> <a href="${escapeHtml(operation.operationId)}.html">${label}</a></li>`;
      });
    const id = name.toLowerCase().replaceAll(" ", "-");
    return `<h2 id="${escapeHtml(id)}"><a href="#${escapeHtml(id)}">${escapeHtml(name)}</a></h2>\n${renderProse(description)}\n<ul>${entries.join("\n")}</ul>`;
  });
  return `<h1>Operations and events</h1>
<p class="server">${inlineCode(baseUrl)}, version ${escapeHtml(document.info.version)}</p>
${renderProse(document.info.description)}
${renderProse(HOW_TO)}
${lists.join("\n")}
<p>For programs: <a href="../openapi.json">openapi.json</a>. For editors: <a href="../reference/dunlin.http">dunlin.http</a>.</p>`;
}

const HOW_TO =
  "The calls read the key from `DUNLIN_API_KEY`. To use the key of the first start, run `export DUNLIN_API_KEY=$(cat data/api-key)`. If Dunlin created its own certificate, the calls need `--cacert data/tls/ca.pem`: run them in Dunlin's folder.";

const rulesBody = (document: OpenApiDocument): Html => `<h1>Rules beyond the schemas</h1>
${renderProse("Rules that JSON Schema cannot express. On everything else, a validator built from `openapi.json` agrees with the service.")}
${htmlTable(
  ["Rule", "Status"],
  document["x-rules-beyond-schema"].map(({ rule, status }) => [renderInline(rule), `<b class="status">${status}</b>`]),
)}`;

export function listOperations({ paths, webhooks }: Pick<OpenApiDocument, "paths" | "webhooks">): PlacedOperation[] {
  const inbound = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  );
  return [...inbound, ...Object.values(webhooks).map(({ post }) => ({ method: "post", path: null, operation: post }))];
}

const createRefResolver = ({ components }: OpenApiDocument): ResolveRef =>
  function resolveRef<T>(part: T | { $ref: string }): T {
    const ref = (part as { $ref?: string }).$ref;
    if (ref === undefined) return part as T;
    const [, , kind, name] = ref.split("/") as [string, string, string, string];
    return components[kind]![name] as T;
  };
