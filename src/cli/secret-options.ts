import { createReadStream } from "node:fs";
import {
  type CommandContext,
  CommandFailure,
  type CommandOptions,
  type OptionValues,
  textOption,
  UsageError,
} from "./command.ts";

/** Far more than any secret needs. */
const SECRET_BYTES_MAX = 16 * 1024;

/** The process list shows `--NAME T` to other users, so `--NAME-file F` exists too. */
export const secretOptions = (...names: string[]): CommandOptions =>
  Object.fromEntries(
    names.flatMap((name) => [name, fileOptionName(name)].map((option) => [option, { type: "string" }])),
  );

const fileOptionName = (name: string) => `${name}-file`;

/**
 * From `--NAME` or `--NAME-file`. The file `-` is standard input; a final line break is dropped.
 *
 * @param isSecret  whether a value of `--NAME` deserves a warning
 */
export async function readSecretOption(
  context: CommandContext,
  values: OptionValues,
  name: string,
  isSecret: (value: string) => boolean = () => true,
): Promise<string | undefined> {
  const value = textOption(values, name);
  const path = textOption(values, fileOptionName(name));
  if (path === undefined) {
    if (value !== undefined && isSecret(value))
      context.stderr.print(
        `Note: the process list shows --${name} to other users of this machine. --${name}-file FILE does not; FILE "-" is standard input.`,
      );
    return value;
  }
  if (value !== undefined) throw new UsageError(`Give --${name} or --${name}-file, not both.`);
  if (
    path === "-" &&
    Object.entries(values).filter(([option, file]) => /-file$/.test(option) && file === "-").length > 1
  )
    throw new UsageError("Only one option can read standard input; write the other value to a file.");
  const secret = (await readSecretFile(context, path, name)).replace(/\r?\n$/, "");
  if (secret === "")
    throw new CommandFailure(`${path === "-" ? "standard input" : path} is empty; --${name}-file reads one line.`);
  return secret;
}

async function readSecretFile({ stderr, input }: CommandContext, path: string, name: string): Promise<string> {
  if (path === "-" && input().isTTY) stderr.print(`Type the value of --${name}-file, then Enter and Ctrl-D.`);
  const pieces: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const piece of path === "-" ? input() : createReadStream(path)) {
      pieces.push(Buffer.from(piece));
      bytes += piece.length;
      if (bytes > SECRET_BYTES_MAX) throw new Error(`it has more than ${SECRET_BYTES_MAX} bytes`);
    }
  } catch (error) {
    throw new CommandFailure(`Cannot read --${name}-file: ${(error as Error).message}`);
  }
  return Buffer.concat(pieces).toString();
}
