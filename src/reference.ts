// `npm run reference`: write what is read by people and editors anew from the code; with --check: say whether it is as the code has it.
import { readFileSync, writeFileSync } from "node:fs";
import { httpFile } from "./api/docs/http-file.ts";
import { llmsText } from "./api/docs/llms.ts";
import { openApiText } from "./api/openapi/document.ts";
import { allCommands } from "./cli/commands.ts";
import { cliReference } from "./cli/reference.ts";

const openApi = openApiText(null);
const written: Readonly<Record<string, string>> = {
  "docs/reference/cli.md": cliReference(await allCommands()),
  "docs/reference/dunlin.http": httpFile(openApi, "https://localhost:8443"),
  "llms.txt": llmsText(openApi, (file) => file),
};

for (const [name, text] of Object.entries(written)) {
  const file = new URL(`../${name}`, import.meta.url);
  if (!process.argv.includes("--check")) writeFileSync(file, text);
  else if (readFileSync(file, "utf8") !== text) {
    console.error(`${name} is not what the code says. Run "npm run reference" and commit the difference.`);
    process.exitCode = 1;
  }
}
