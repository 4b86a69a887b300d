import { suggestName } from "../config/suggest-name.ts";
import { COMMAND_NAMES } from "./commands.ts";

const ONE_WORD_COMMANDS = COMMAND_NAMES.filter((name) => !name.includes(" "));

/** What is said about words that are no command: which one may have been meant, or which ones begin like them. */
export function describeUnknownCommand(words: readonly string[]): string {
  const typed = words.filter((word) => !word.startsWith("-")).slice(0, 2);
  const [group = words[0]!] = typed;
  const inGroup = COMMAND_NAMES.filter((name) => name.startsWith(`${group} `));
  // What follows a command of one word is its argument: "expain inv_1".
  const meant =
    suggestName(typed.join(" "), COMMAND_NAMES) || (inGroup.length > 0 ? "" : suggestName(group, ONE_WORD_COMMANDS));
  if (meant === "" && inGroup.length > 0)
    return `"${group}" is the beginning of ${inGroup.length} commands: ${inGroup.join(", ")}.`;
  return `there is no command "${typed.join(" ") || group}".${meant} "npx dunlin --help" lists them.`;
}
