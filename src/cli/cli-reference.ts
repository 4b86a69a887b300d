import { type Command, EXIT_CODES } from "./command.ts";
import { COMMAND_GROUPS } from "./help.ts";

/** For `docs/reference/cli.md`. */
export function buildCliReference(commands: readonly Command[]): string {
  const groups = COMMAND_GROUPS.map(([title, prefix]) => {
    const sections = commands.filter(({ name }) => prefix.test(name)).map(sectionOf);
    return [`## ${title}`, ...sections].join("\n\n");
  });
  return `# Commands

\`npx dunlin COMMAND\` in the folder of the project, or \`npm run dunlin -- COMMAND\`. \`npx dunlin COMMAND --help\` shows the same text. Commands use the database
of the [settings](settings.md), also while the service runs. Exit codes: ${EXIT_CODES.ok} ok, ${EXIT_CODES.failed} failed,
${EXIT_CODES.usage} usage, ${EXIT_CODES.unreachable} unreachable, ${EXIT_CODES.config} wrong settings. This page is written by \`npm run generate\`.

${groups.join("\n\n")}
`;
}

const sectionOf = ({ name, usage, summary, examples }: Command): string => `### dunlin ${name}

${summary}.

\`\`\`
npx dunlin ${name}${usage === "" ? "" : ` ${usage}`}
\`\`\`

For example:

\`\`\`
${examples.join("\n")}
\`\`\``;
