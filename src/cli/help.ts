import type { Command } from "./command.ts";

export const COMMAND_GROUPS: readonly [title: string, prefix: RegExp][] = [
  ["Run", /^(serve|demo|doctor|trust)$/],
  ["Database", /^(migrate|backup|restore|move)$|^(secret-key|erase) /],
  ["Merchants, people and keys", /^(merchant|key) |^invite$/],
  ["Requests, import and export", /^request |^(import|export)$/],
  ["Attention, analytics and notifications", /^(attention|analytics|mcp)$|^notifications /],
  ["Connectors", /^connect /],
  ["Webhooks", /^(delivery|webhook) |^(listen|trigger)$/],
  ["Decisions", /^((experiment|recovery|rules) |(explain|shadow|backtest|simulate)$)/],
];

export function formatHelp(commands: readonly Command[]): string {
  const lines = ["dunlin: recovers failed subscription payments", "", "Usage: npx dunlin COMMAND [options]"];
  for (const [title, prefix] of COMMAND_GROUPS) {
    lines.push("", title);
    for (const { name, summary } of commands.filter((command) => prefix.test(command.name)))
      lines.push(`  ${name.padEnd(21)} ${summary}`);
  }
  lines.push(
    "",
    '"npx dunlin COMMAND --help" shows examples. Settings come from the environment: docs/reference/settings.md.',
  );
  lines.push("Exit codes: 0 ok, 1 failed, 2 usage, 69 unreachable, 78 wrong settings.");
  return lines.join("\n");
}

export const formatCommandHelp = ({ name, usage, summary, examples }: Command): string =>
  [
    summary,
    "",
    "Examples",
    ...examples.map((example) => `  ${example}`),
    "",
    `Usage: npx dunlin ${name} ${usage}`,
  ].join("\n");
