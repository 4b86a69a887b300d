import { listOperations } from "./api-reference.ts";
import { INDEX_FILE, isDecision, readChapters, readRepositoryFile } from "./contents.ts";

/** An index for language models (llmstxt.org). */
export function buildLlmsText(openApi: string, link: (file: string) => string): string {
  const [, title, about] = /^# (.*)\n\n([\s\S]*?)\n\n/.exec(readRepositoryFile(INDEX_FILE))!;
  const lists = readChapters().map(({ title: heading, entries }) => {
    // Decision records do not help to integrate Dunlin.
    const listed = entries.filter(({ file }) => !isDecision(file));
    const lines = listed.map(({ label, file, about }) => `- [${label}](${link(file)})${about ? `: ${about}` : ""}`);
    return [`## ${heading}`, "", ...lines].join("\n");
  });
  const operations = listOperations(JSON.parse(openApi)).map(
    ({ method, path, operation }) =>
      `- ${path === null ? operation.summary : `\`${method.toUpperCase()} ${path}\`: ${operation.summary}`}`,
  );
  return `# ${title}

> ${about!.replaceAll("\n", " ")}

${lists.join("\n\n")}

## Operations and events

All fields, errors and examples: [openapi.json](${link("openapi.json")})

${operations.join("\n")}
`;
}
