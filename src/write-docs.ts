// `npm run docs -- FOLDER --base-url URL`: writes the site of /docs/ to a folder for any web server.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { buildSite } from "./api/docs/site.ts";
import { buildOpenApiText } from "./api/openapi/openapi-document.ts";

const { values, positionals } = parseArgs({ options: { "base-url": { type: "string" } }, allowPositionals: true });
const folder = positionals[0] ?? "site";
const baseUrl = values["base-url"] ?? "https://localhost:8443";
const site = await buildSite(buildOpenApiText(baseUrl), baseUrl);
for (const [path, text] of site) {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}
console.log(`${site.size} files in ${folder}`);
