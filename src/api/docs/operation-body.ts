import type { Part } from "../openapi/field-schema.ts";
import { type Follow, fieldTable, type Schema, typeOf } from "./fields.ts";
import { block, code, escaped, type Html, inline, prose, table } from "./markup.ts";

interface Content {
  "application/json": { schema: Schema; examples?: Record<string, { value: Part }> };
}
interface Response {
  description: string;
  headers?: Part;
  content?: Content;
}
export interface Operation {
  operationId: string;
  summary: string;
  description: string;
  tags: [string];
  security?: Part[];
  parameters?: { name: string; in: string; description: string; schema: Schema }[];
  requestBody?: { content: Content };
  responses: Record<string, Response | { $ref: string }>;
}

/** An operation and where it is: a path of the service, or null for a webhook. */
export interface Placed {
  method: string;
  path: string | null;
  operation: Operation;
}

const pretty = (value: unknown) => JSON.stringify(value, null, 2);

/** The page of one operation: what it does, how it is called, what it takes and what it answers. */
export function operationBody({ method, path, operation }: Placed, follow: Follow, baseUrl: string): Html {
  const { summary, description, parameters = [], requestBody, responses } = operation;
  const all = parameters.map(follow);
  const hasQuery = all.some((each) => each.in === "query");
  const address = path === null ? "your endpoint" : path;
  return `<h1>${escaped(summary)}</h1>
<p class="call"><b class="${escaped(method)}">${escaped(method.toUpperCase())}</b> ${code(address)}</p>
${prose(description)}
${path === null ? "" : block("Call it", curl(method, `${baseUrl}${path}${hasQuery ? "?orderBy=created_at&orderDirection=asc" : ""}`, operation))}
${parameters.length > 0 ? `${heading(path === null ? "Header fields" : "Parameters")}${parameterTable(all)}` : ""}
${requestBody ? `${heading("Body")}${fieldTable(requestBody.content["application/json"].schema, follow, path === null ? "always" : "required")}${examples(requestBody.content, "Body")}` : ""}
${heading("Replies")}
${success(follow<Response>(responses["200"]!), follow)}
${errors(responses, follow)}`;
}

const heading = (words: string): Html => {
  const id = words.toLowerCase().replace(" ", "-");
  return `<h2 id="${id}"><a href="#${id}">${words}</a></h2>`;
};

function curl(method: string, url: string, { security, requestBody }: Operation): string {
  // Where nothing else was set, the certificate is one of Dunlin's own authority.
  const lines = [`curl ${new URL(url).hostname === "localhost" ? "--cacert data/tls/ca.pem " : ""}"${url}"`];
  // An empty list says that this operation needs no key, where the document asks for one.
  if (security?.length !== 0) lines.push('-H "Authorization: Bearer $DUNLIN_API_KEY"');
  if (method === "post") {
    const [example] = Object.values(requestBody!.content["application/json"].examples!);
    lines.push('-H "Content-Type: application/json"', `-d '${pretty(example!.value)}'`);
  }
  return lines.join(" \\\n  ");
}

const parameterTable = (parameters: NonNullable<Operation["parameters"]>) =>
  table(
    ["Name", "What it is", "Meaning"],
    parameters.map(({ name, schema, description }) => {
      const { default: byDefault } = schema;
      const fallback = byDefault === undefined ? "" : `<br>${code(String(byDefault))} when absent`;
      return [code(name), typeOf(schema) + fallback, inline(description)];
    }),
  );

function examples(content: Content, label: string): Html {
  const all = Object.entries(content["application/json"].examples ?? {});
  return all
    .map(
      ([name, { value }]) =>
        `<details><summary>${escaped(label)}, for example: ${escaped(wordsOf(name))}</summary>${block("JSON", pretty(value))}</details>`,
    )
    .join("\n");
}

/** `missingField` as people write it. */
const wordsOf = (name: string) => name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).replaceAll("_", " ");

function success({ description, content }: Response, follow: Follow): Html {
  const body = content
    ? `${fieldTable(content["application/json"].schema, follow, "always")}${examples(content, "Reply")}`
    : "";
  return `<p><b class="status">200</b> ${inline(description)}</p>${body}`;
}

/** Every other status, with the messages that it may carry. */
function errors(responses: Operation["responses"], follow: Follow): Html {
  const rows = Object.entries(responses)
    .filter(([status]) => status !== "200")
    .map(([status, part]) => {
      const { description, content } = follow<Response>(part);
      const bodies = Object.values(content?.["application/json"].examples ?? {}).map(({ value }) => value);
      const messages = bodies.map((each) => `<li>${code(String(each.error_code ? pretty(each) : each.message))}</li>`);
      return [`<b class="status">${escaped(status)}</b>`, `${inline(description)}<ul>${messages.join("")}</ul>`];
    });
  return table(["Status", "Meaning, and what the message says"], rows);
}
