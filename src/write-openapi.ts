// `npm run generate`: writes openapi.json. With --check, fails if the file is out of date.
import { readFileSync, writeFileSync } from "node:fs";
import { buildOpenApiText } from "./api/openapi/openapi-document.ts";

const FILE = new URL("../openapi.json", import.meta.url);
const text = buildOpenApiText(null);

if (!process.argv.includes("--check")) writeFileSync(FILE, text);
else if (readFileSync(FILE, "utf8") !== text) {
  console.error('openapi.json is out of date. Run "npm run generate" and commit the difference.');
  process.exitCode = 1;
}
