import { access, constants, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { CommandFailure } from "./command.ts";

/** Call it before a report that takes long. */
export const ensureWritable = (path: string) => access(dirname(path), constants.W_OK).catch(failUnwritable(path));

export const writeReport = (path: string, html: string) => writeFile(path, html).catch(failUnwritable(path));

const failUnwritable = (path: string) => (error: NodeJS.ErrnoException) => {
  const why = error.code === "ENOENT" ? "the folder does not exist." : error.message;
  throw new CommandFailure(`Cannot write the report to ${path}: ${why}`);
};
