import type { Settings } from "../config/config.ts";
import { demoFolderOf } from "../process/open-store.ts";
import type { CommandContext } from "./command.ts";

/** Begins a command that sees the demo's data, in any folder. */
export const demoCommandPrefix = ({ databaseUrl, dataDir }: Settings) =>
  `${databaseUrl ? "DATABASE_URL= " : ""}DUNLIN_DATA="${demoFolderOf(dataDir)}" npx dunlin`;

/** Without the folder, commands would show the service's own data. @param context  with the settings that the user gave */
export function printDemoCommands({ print, settings }: Pick<CommandContext, "print" | "settings">) {
  print(`Commands     in another terminal, such as: ${demoCommandPrefix(settings)} attention`);
}
