import type { Rule } from "../openapi/beyond-schema.ts";
import type { Part } from "../openapi/field-schema.ts";
import type { Follow } from "./fields.ts";
import { code, escaped, type Html, inline, prose, table } from "./markup.ts";
import { type Operation, operationBody, type Placed } from "./operation-body.ts";

interface Document extends Part {
  info: { title: string; version: string; description: string };
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  webhooks: Record<string, { post: Operation }>;
  components: Record<string, Record<string, Part>>;
  "x-rules-beyond-schema": Rule[];
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
 * @param text  an OpenAPI document as `openApiText` writes it
 */
export function referencePages(text: string, baseUrl: string): ReferencePage[] {
  const document = JSON.parse(text) as Document;
  const follow = followIn(document);
  const operations = placed(document).map(
    (one): ReferencePage => ({
      path: pathOf(one.operation),
      title: one.operation.summary,
      body: operationBody(one, follow, baseUrl),
      method: one.method,
    }),
  );
  return [
    { path: "api/index.html", title: "Operations and events", body: overview(document, baseUrl), method: null },
    ...operations,
    { path: "api/rules.html", title: "Rules beyond the schemas", body: rulesBody(document), method: null },
  ];
}

const pathOf = ({ operationId }: Operation) => `api/${operationId}.html`;

function overview(document: Document, baseUrl: string): Html {
  const all = placed(document);
  const lists = document.tags.map(({ name, description }) => {
    const entries = all
      .filter(({ operation }) => operation.tags[0] === name)
      .map(({ method, path, operation }) => {
        const words = path === null ? escaped(operation.summary) : `${escaped(operation.summary)} ${code(path)}`;
        return `<li><b class="${escaped(method)}">${escaped(method.toUpperCase())}</b> <a href="${escaped(operation.operationId)}.html">${words}</a></li>`;
      });
    const id = name.toLowerCase().replaceAll(" ", "-");
    return `<h2 id="${escaped(id)}"><a href="#${escaped(id)}">${escaped(name)}</a></h2>\n${prose(description)}\n<ul>${entries.join("\n")}</ul>`;
  });
  return `<h1>Operations and events</h1>
<p class="server">${code(baseUrl)}, version ${escaped(document.info.version)}</p>
${prose(document.info.description)}
${prose(HOW_TO)}
${lists.join("\n")}
<p>For programs: <a href="../openapi.json">openapi.json</a>. For editors: <a href="../reference/dunlin.http">dunlin.http</a>.</p>`;
}

const HOW_TO =
  "The calls take the key from `DUNLIN_API_KEY`; `export DUNLIN_API_KEY=$(cat data/api-key)` sets it to that of the first start. With a certificate that Dunlin made itself they need `--cacert data/tls/ca.pem`, and are typed in its folder.";

const rulesBody = (document: Document): Html => `<h1>Rules beyond the schemas</h1>
${prose("What no JSON Schema can say. On everything else a validator made from `openapi.json` agrees with the service.")}
${table(
  ["Rule", "Answer"],
  document["x-rules-beyond-schema"].map(({ rule, status }) => [inline(rule), `<b class="status">${status}</b>`]),
)}`;

/** Every operation and then every event of a document, in its order. */
export function placed({ paths, webhooks }: Pick<Document, "paths" | "webhooks">): Placed[] {
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
