import { listOperations } from "./api-reference.ts";
import { INDEX_FILE, isDecision, readChapters, readRepositoryFile } from "./contents.ts";

/**
 * `llms.txt`: what there is to read, for programs that read (llmstxt.org).
 *
 * @param openApi  as `buildOpenApiText` writes it
 * @param link  a file of the repository as a link of this file
 */
export function buildLlmsText(openApi: string, link: (file: string) => string): string {
  const [, title, about] = /^# (.*)\n\n([\s\S]*?)\n\n/.exec(readRepositoryFile(INDEX_FILE))!;
  const lists = readChapters().map(({ title: heading, entries }) => {
    // How Dunlin came to be so is of no use to whoever integrates it.
    const listed = entries.filter(({ file }) => !isDecision(file));
    const lines = listed.map(({ words, file, about }) => `- [${words}](${link(file)})${about ? `: ${about}` : ""}`);
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

All of them with every field, error and example: [openapi.json](${link("openapi.json")})

${operations.join("\n")}
`;
}
