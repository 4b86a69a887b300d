import { access, constants, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { CommandFailure } from "./command.ts";

/**
 * What a report says takes long to work out: what could not be written is not begun.
 *
 * @throws Failure, with what is in the way
 */
export const ensureWritable = (path: string) => access(dirname(path), constants.W_OK).catch(failUnwritable(path));

/** @throws Failure, with what is in the way */
export const writeReport = (path: string, html: string) => writeFile(path, html).catch(failUnwritable(path));

const failUnwritable = (path: string) => (error: NodeJS.ErrnoException) => {
  const why = error.code === "ENOENT" ? "the folder is not there." : error.message;
  throw new CommandFailure(`The report can't be written to ${path}: ${why}`);
};
