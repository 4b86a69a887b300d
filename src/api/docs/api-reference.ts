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
  /** From the root of the site. */
  path: string;
  title: string;
  body: Html;
  /** How it is listed: null when it is no operation. */
  method: string | null;
}

/**
 * A page for each operation and event, before them one of what holds for all, after them one of what no schema says.
 *
 * @param text  an OpenAPI document as `buildOpenApiText` writes it
 */
export function buildReferencePages(text: string, baseUrl: string): ReferencePage[] {
  const document = JSON.parse(text) as OpenApiDocument;
  const follow = createRefResolver(document);
  const operations = listOperations(document).map(
    (one): ReferencePage => ({
      path: pagePathOf(one.operation),
      title: one.operation.summary,
      body: renderOperation(one, follow, baseUrl),
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
        const words =
          path === null ? escapeHtml(operation.summary) : `${escapeHtml(operation.summary)} ${inlineCode(path)}`;
        return `<li><b class="${escapeHtml(method)}">${escapeHtml(method.toUpperCase())}</b> <a href="${escapeHtml(operation.operationId)}.html">${words}</a></li>`;
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
  "The calls take the key from `DUNLIN_API_KEY`; `export DUNLIN_API_KEY=$(cat data/api-key)` sets it to that of the first start. With a certificate that Dunlin made itself they need `--cacert data/tls/ca.pem`, and are typed in its folder.";

const rulesBody = (document: OpenApiDocument): Html => `<h1>Rules beyond the schemas</h1>
${renderProse("What no JSON Schema can say. On everything else a validator made from `openapi.json` agrees with the service.")}
${htmlTable(
  ["Rule", "Answer"],
  document["x-rules-beyond-schema"].map(({ rule, status }) => [renderInline(rule), `<b class="status">${status}</b>`]),
)}`;

/** Every operation and then every event of a document, in its order. */
export function listOperations({ paths, webhooks }: Pick<OpenApiDocument, "paths" | "webhooks">): PlacedOperation[] {
  const inbound = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  );
  return [...inbound, ...Object.values(webhooks).map(({ post }) => ({ method: "post", path: null, operation: post }))];
}

const createRefResolver = ({ components }: OpenApiDocument): ResolveRef =>
  function follow<T>(part: T | { $ref: string }): T {
    const ref = (part as { $ref?: string }).$ref;
    if (ref === undefined) return part as T;
    const [, , kind, name] = ref.split("/") as [string, string, string, string];
    return components[kind]![name] as T;
  };
