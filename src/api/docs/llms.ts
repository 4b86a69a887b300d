import { chapters, INDEX, isDecision, readRepositoryFile } from "./contents.ts";
import { placed } from "./reference.ts";

/**
 * `llms.txt`: what there is to read, for programs that read (llmstxt.org).
 *
 * @param openApi  as `openApiText` writes it
 * @param link  a file of the repository as a link of this file
 */
export function llmsText(openApi: string, link: (file: string) => string): string {
  const [, title, about] = /^# (.*)\n\n([\s\S]*?)\n\n/.exec(readRepositoryFile(INDEX))!;
  const lists = chapters().map(({ title: heading, entries }) => {
    // How Dunlin came to be so is of no use to whoever integrates it.
    const listed = entries.filter(({ file }) => !isDecision(file));
    const lines = listed.map(({ words, file, about }) => `- [${words}](${link(file)})${about ? `: ${about}` : ""}`);
    return [`## ${heading}`, "", ...lines].join("\n");
  });
  const operations = placed(JSON.parse(openApi)).map(
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
