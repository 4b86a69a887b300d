import type { DocumentPart } from "../openapi/field-schema.ts";
import { describeType, fieldTable, type ResolveRef, type Schema } from "./field-table.ts";
import { codeBlock, escapeHtml, type Html, htmlTable, inlineCode, renderInline, renderProse } from "./markup.ts";

interface Content {
  "application/json": { schema: Schema; examples?: Record<string, { value: DocumentPart }> };
}
interface Response {
  description: string;
  headers?: DocumentPart;
  content?: Content;
}
export interface Operation {
  operationId: string;
  summary: string;
  description: string;
  tags: [string];
  security?: DocumentPart[];
  parameters?: { name: string; in: string; description: string; schema: Schema }[];
  requestBody?: { content: Content };
  responses: Record<string, Response | { $ref: string }>;
}

/** An operation and where it is: a path of the service, or null for a webhook. */
export interface PlacedOperation {
  method: string;
  path: string | null;
  operation: Operation;
}

const formatJson = (value: unknown) => JSON.stringify(value, null, 2);

/** The page of one operation: what it does, how it is called, what it takes and what it answers. */
export function renderOperation(
  { method, path, operation }: PlacedOperation,
  follow: ResolveRef,
  baseUrl: string,
): Html {
  const { summary, description, parameters = [], requestBody, responses } = operation;
  const all = parameters.map(follow);
  const hasQuery = all.some((each) => each.in === "query");
  const address = path === null ? "your endpoint" : path;
  return `<h1>${escapeHtml(summary)}</h1>
<p class="call"><b class="${escapeHtml(method)}">${escapeHtml(method.toUpperCase())}</b> ${inlineCode(address)}</p>
${renderProse(description)}
${path === null ? "" : codeBlock("Call it", curlCommand(method, `${baseUrl}${path}${hasQuery ? "?orderBy=created_at&orderDirection=asc" : ""}`, operation))}
${parameters.length > 0 ? `${heading(path === null ? "Header fields" : "Parameters")}${parameterTable(all)}` : ""}
${requestBody ? `${heading("Body")}${fieldTable(requestBody.content["application/json"].schema, follow, path === null ? "always" : "required")}${exampleBlocks(requestBody.content, "Body")}` : ""}
${heading("Replies")}
${successReply(follow<Response>(responses["200"]!), follow)}
${errorTable(responses, follow)}`;
}

const heading = (words: string): Html => {
  const id = words.toLowerCase().replace(" ", "-");
  return `<h2 id="${id}"><a href="#${id}">${words}</a></h2>`;
};

function curlCommand(method: string, url: string, { security, requestBody }: Operation): string {
  // Where nothing else was set, the certificate is one of Dunlin's own authority.
  const lines = [`curl ${new URL(url).hostname === "localhost" ? "--cacert data/tls/ca.pem " : ""}"${url}"`];
  // An empty list says that this operation needs no key, where the document asks for one.
  if (security?.length !== 0) lines.push('-H "Authorization: Bearer $DUNLIN_API_KEY"');
  if (method === "post") {
    const [example] = Object.values(requestBody!.content["application/json"].examples!);
    lines.push('-H "Content-Type: application/json"', `-d '${formatJson(example!.value)}'`);
  }
  return lines.join(" \\\n  ");
}

const parameterTable = (parameters: NonNullable<Operation["parameters"]>) =>
  htmlTable(
    ["Name", "What it is", "Meaning"],
    parameters.map(({ name, schema, description }) => {
      const { default: byDefault } = schema;
      const fallback = byDefault === undefined ? "" : `<br>${inlineCode(String(byDefault))} when absent`;
      return [inlineCode(name), describeType(schema) + fallback, renderInline(description)];
    }),
  );

function exampleBlocks(content: Content, label: string): Html {
  const all = Object.entries(content["application/json"].examples ?? {});
  return all
    .map(
      ([name, { value }]) =>
        `<details><summary>${escapeHtml(label)}, for example: ${escapeHtml(splitCamelCase(name))}</summary>${codeBlock("JSON", formatJson(value))}</details>`,
    )
    .join("\n");
}

/** `missingField` as people write it. */
const splitCamelCase = (name: string) =>
  name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).replaceAll("_", " ");

function successReply({ description, content }: Response, follow: ResolveRef): Html {
  const body = content
    ? `${fieldTable(content["application/json"].schema, follow, "always")}${exampleBlocks(content, "Reply")}`
    : "";
  return `<p><b class="status">200</b> ${renderInline(description)}</p>${body}`;
}

/** Every other status, with the messages that it may carry. */
function errorTable(responses: Operation["responses"], follow: ResolveRef): Html {
  const rows = Object.entries(responses)
    .filter(([status]) => status !== "200")
    .map(([status, part]) => {
      const { description, content } = follow<Response>(part);
      const bodies = Object.values(content?.["application/json"].examples ?? {}).map(({ value }) => value);
      const messages = bodies.map(
        (each) => `<li>${inlineCode(String(each.error_code ? formatJson(each) : each.message))}</li>`,
      );
      return [
        `<b class="status">${escapeHtml(status)}</b>`,
        `${renderInline(description)}<ul>${messages.join("")}</ul>`,
      ];
    });
  return htmlTable(["Status", "Meaning, and what the message says"], rows);
}
