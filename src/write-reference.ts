// `npm run generate`: writes the references that come from the code. With --check, fails if a file is out of date.
import { readFileSync, writeFileSync } from "node:fs";
import { buildHttpFile } from "./api/docs/http-file.ts";
import { buildLlmsText } from "./api/docs/llms.ts";
import { buildOpenApiText } from "./api/openapi/openapi-document.ts";
import { buildCliReference } from "./cli/cli-reference.ts";
import { loadAllCommands } from "./cli/commands.ts";

const openApi = buildOpenApiText(null);
const pageByPath: Readonly<Record<string, string>> = {
  "docs/reference/cli.md": buildCliReference(await loadAllCommands()),
  "docs/reference/dunlin.http": buildHttpFile(openApi, "https://localhost:8443"),
  "llms.txt": buildLlmsText(openApi, (file) => file),
};

for (const [name, text] of Object.entries(pageByPath)) {
  const file = new URL(`../${name}`, import.meta.url);
  if (!process.argv.includes("--check")) writeFileSync(file, text);
  else if (readFileSync(file, "utf8") !== text) {
    console.error(`${name} is out of date. Run "npm run generate" and commit the difference.`);
    process.exitCode = 1;
  }
}
