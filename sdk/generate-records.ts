// `npm run generate`: generates the SDK's types from openapi.json. With --check: tests whether they are up to date.
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";

interface Schema {
  $ref?: string;
  type?: string | string[];
  enum?: string[];
  const?: string | boolean;
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
}

interface Parameter {
  name: string;
  in: string;
  description?: string;
  schema: Schema;
}

type NamesBySchema = Record<string, string>;

/** By file: schemas and their names in the SDK. `Error` would clash with JavaScript's. */
const NAMES_BY_FILE: Record<string, NamesBySchema> = {
  "src/client/records.ts": {
    Subscription: "Subscription",
    Invoice: "Invoice",
    Transaction: "Transaction",
    IngestReply: "IngestReply",
    Error: "ErrorReply",
  },
  "src/client/recovery-action.ts": {
    RecoveryAction: "RecoveryAction",
    RecoveryActionPage: "RecoveryActionPage",
    ListError: "ListErrorReply",
    ListOtherError: "ListOtherErrorReply",
    ListParams: "ListParams",
  },
  "src/client/invoice-requests.ts": {
    ReasonBody: "ReasonBody",
    PostponeBody: "PostponeBody",
    StopReply: "StopReply",
    RetryNowReply: "RetryNowReply",
    PostponeReply: "PostponeReply",
    Explanation: "Explanation",
  },
  "src/client/recovery-rule.ts": {
    RecoveryRule: "RecoveryRule",
    RecoveryRuleList: "RecoveryRuleList",
    RecoveryRulesReply: "RecoveryRulesReply",
    RuleTotal: "RuleTotal",
    RecoveryRulesTest: "RecoveryRulesTest",
  },
  "src/client/attention-list.ts": { Attention: "Attention" },
  "src/client/recovery-breakdown.ts": { RecoveryBreakdown: "RecoveryBreakdown" },
  "src/webhooks/bodies.ts": {
    RecoveryActionEvent: "RecoveryActionEvent",
    PauseCollectionEvent: "PauseCollectionEvent",
    CompleteDunningEvent: "CompleteDunningEvent",
    RecoveryEndedEvent: "RecoveryEndedEvent",
    FlatRetryRequest: "FlatRetryRequest",
    WebhookReply: "WebhookReply",
    WebhookErrorReply: "WebhookErrorReply",
  },
};
const PRIMITIVES: Record<string, string> = {
  string: "string",
  integer: "number",
  number: "number",
  boolean: "boolean",
  null: "null",
};

function fileText(names: NamesBySchema, schemas: Record<string, Schema>): string {
  return [
    "// Generated from openapi.json by generate-records.ts. Timestamps are ISO 8601 in UTC.\n",
    ...Object.entries(names).map(([schema, name]) => interfaceText(name, schemas[schema]!, names)),
  ].join("\n");
}

function listParams(parameters: (Parameter | { $ref: string })[]): Schema {
  const query = parameters.filter((each): each is Parameter => "name" in each && each.in === "query");
  return {
    description:
      "The query of the list. An ascending walk by `executed_at` or `created_at` has no gaps and no duplicates.",
    properties: Object.fromEntries(
      query.map(({ name, description, schema }) => [name, { ...schema, ...(description ? { description } : {}) }]),
    ),
  };
}

const interfaceText = (name: string, schema: Schema, names: NamesBySchema) =>
  `${docComment(schema.description)}export interface ${name} ${objectText(schema, names)}\n`;

function objectText({ properties = {}, required = [] }: Schema, names: NamesBySchema): string {
  const fields = Object.entries(properties).map(
    ([name, schema]) =>
      `${docComment(schema.description)}${/^\w+$/.test(name) ? name : `"${name}"`}${required.includes(name) ? "" : "?"}: ${typeText(schema, names)};`,
  );
  return `{\n${fields.join("\n")}\n}`;
}

function typeText(schema: Schema, names: NamesBySchema): string {
  if (schema.$ref !== undefined) {
    const name = names[schema.$ref.split("/").at(-1)!];
    if (name === undefined) throw new Error(`${schema.$ref} has no name in its file`);
    return name;
  }
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  const allTypes = [schema.type ?? []].flat();
  // An empty string also means absent, but the types allow only null.
  const types =
    allTypes.includes("null") && allTypes.length > 2 ? allTypes.filter((type) => type !== "string") : allTypes;
  if (schema.enum !== undefined) {
    const members = schema.enum.filter((member) => member !== "").map((member) => JSON.stringify(member));
    return (types.includes("null") && !members.includes("null") ? [...members, "null"] : members).join(" | ");
  }
  if (types.length === 0) throw new Error(`a schema without a type: ${JSON.stringify(schema)}`);
  return types.map((type) => namedType(type, schema, names)).join(" | ");
}

function namedType(type: string, schema: Schema, names: NamesBySchema): string {
  if (type === "array") return `(${typeText(schema.items!, names)})[]`;
  if (type === "object") return schema.properties ? objectText(schema, names) : "Record<string, unknown>";
  const name = PRIMITIVES[type];
  if (name === undefined) throw new Error(`openapi.json has an unsupported type: ${type}`);
  return name;
}

const docComment = (description: string | undefined) =>
  description ? `/** ${description.replaceAll("*/", "* /")} */\n` : "";

function formatSource(source: string): string {
  const biome = createRequire(import.meta.url).resolve("@biomejs/biome/bin/biome");
  const { status, stdout, stderr } = spawnSync(process.execPath, [biome, "format", "--stdin-file-path=records.ts"], {
    input: source,
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`biome could not format the types: ${stderr}`);
  return stdout;
}

const document = JSON.parse(readFileSync(new URL("../openapi.json", import.meta.url), "utf8"));
const schemas: Record<string, Schema> = {
  ...document.components.schemas,
  ListParams: listParams(document.paths["/v1/recovery_actions"].get.parameters),
};
for (const [path, names] of Object.entries(NAMES_BY_FILE)) {
  const file = new URL(path, import.meta.url);
  const text = formatSource(fileText(names, schemas));
  if (!process.argv.includes("--check")) writeFileSync(file, text);
  else if (readFileSync(file, "utf8") !== text) {
    console.error(`sdk/${path} does not match openapi.json. Run "npm run generate" and commit the result.`);
    process.exitCode = 1;
  }
}
