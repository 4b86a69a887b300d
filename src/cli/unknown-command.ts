import { suggestName } from "../config/suggest-name.ts";
import { COMMAND_NAMES } from "./commands.ts";

const ONE_WORD_COMMANDS = COMMAND_NAMES.filter((name) => !name.includes(" "));

export function describeUnknownCommand(words: readonly string[]): string {
  const typed = words.filter((word) => !word.startsWith("-")).slice(0, 2);
  const [group = words[0]!] = typed;
  const inGroup = COMMAND_NAMES.filter((name) => name.startsWith(`${group} `));
  // Arguments are not part of a one-word command: "expain inv_1".
  const suggestion =
    suggestName(typed.join(" "), COMMAND_NAMES) || (inGroup.length > 0 ? "" : suggestName(group, ONE_WORD_COMMANDS));
  if (suggestion === "" && inGroup.length > 0) return `"${group}" needs a subcommand: ${inGroup.join(", ")}.`;
  return `there is no command "${typed.join(" ") || group}".${suggestion} "npx dunlin --help" lists them.`;
}
