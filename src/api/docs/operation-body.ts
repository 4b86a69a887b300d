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
  parameters?: { name: string; in: string; description: string; schema: Schema; example?: unknown }[];
  requestBody?: { content: Content };
  responses: Record<string, Response | { $ref: string }>;
}

export interface PlacedOperation {
  method: string;
  path: string | null;
  operation: Operation;
}

const formatJson = (value: unknown) => JSON.stringify(value, null, 2);

export function renderOperation(
  { method, path, operation }: PlacedOperation,
  resolveRef: ResolveRef,
  baseUrl: string,
): Html {
  const { summary, description, parameters = [], requestBody, responses } = operation;
  const all = parameters.map(resolveRef);
  const hasQuery = all.some((each) => each.in === "query");
  const address = path === null ? "your endpoint" : path;
  return `<h1>${escapeHtml(summary)}</h1>
<p class="call"><b class="${escapeHtml(method)}">${escapeHtml(method.toUpperCase())}</b> ${inlineCode(address)}</p>
${renderProse(description)}
${path === null ? "" : codeBlock("Example call", curlCommand(method, `${baseUrl}${withExamples(path, all)}${hasQuery ? "?orderBy=created_at&orderDirection=asc" : ""}`, operation))}
${parameters.length > 0 ? `${heading(path === null ? "Header fields" : "Parameters")}${parameterTable(all)}` : ""}
${requestBody ? `${heading("Body")}${fieldTable(requestBody.content["application/json"].schema, resolveRef, path === null ? "always" : "required")}${exampleBlocks(requestBody.content, "Body")}` : ""}
${heading("Responses")}
${successReply(resolveRef<Response>(responses["200"]!), resolveRef)}
${errorTable(responses, resolveRef)}`;
}

const heading = (label: string): Html => {
  const id = label.toLowerCase().replace(" ", "-");
  return `<h2 id="${id}"><a href="#${id}">${label}</a></h2>`;
};

/** Puts the documented examples into a path. */
export const withExamples = (path: string, parameters: NonNullable<Operation["parameters"]>) =>
  path.replace(/\{(\w+)\}/g, (_, name) => String(parameters.find((each) => each.name === name)?.example ?? name));

function curlCommand(method: string, url: string, { security, requestBody }: Operation): string {
  // By default, Dunlin's local CA signed the certificate.
  const lines = [`curl ${new URL(url).hostname === "localhost" ? "--cacert data/tls/ca.pem " : ""}"${url}"`];
  // The document requires a key by default; an empty list overrides that.
  if (security?.length !== 0) lines.push('-H "Authorization: Bearer $DUNLIN_API_KEY"');
  if (method === "put") lines.push("-X PUT");
  if (requestBody) {
    const [example] = Object.values(requestBody.content["application/json"].examples!);
    lines.push('-H "Content-Type: application/json"', `-d '${formatJson(example!.value)}'`);
  }
  return lines.join(" \\\n  ");
}

const parameterTable = (parameters: NonNullable<Operation["parameters"]>) =>
  htmlTable(
    ["Name", "Type", "Meaning"],
    parameters.map(({ name, schema, description }) => {
      const { default: defaultValue } = schema;
      const defaultNote = defaultValue === undefined ? "" : `<br>default: ${inlineCode(String(defaultValue))}`;
      return [inlineCode(name), describeType(schema) + defaultNote, renderInline(description)];
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

const splitCamelCase = (name: string) =>
  name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).replaceAll("_", " ");

function successReply({ description, content }: Response, resolveRef: ResolveRef): Html {
  const body = content
    ? `${fieldTable(content["application/json"].schema, resolveRef, "always")}${exampleBlocks(content, "Response")}`
    : "";
  return `<p><b class="status">200</b> ${renderInline(description)}</p>${body}`;
}

function errorTable(responses: Operation["responses"], resolveRef: ResolveRef): Html {
  const rows = Object.entries(responses)
    .filter(([status]) => status !== "200")
    .map(([status, part]) => {
      const { description, content } = resolveRef<Response>(part);
      const bodies = Object.values(content?.["application/json"].examples ?? {}).map(({ value }) => value);
      const messages = bodies.map(
        (each) => `<li>${inlineCode(String(each.error_code ? formatJson(each) : each.message))}</li>`,
      );
      return [
        `<b class="status">${escapeHtml(status)}</b>`,
        `${renderInline(description)}<ul>${messages.join("")}</ul>`,
      ];
    });
  return htmlTable(["Status", "Meaning and messages"], rows);
}
