import { access, constants, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { Failure } from "./command.ts";

/**
 * What a report says takes long to work out: what could not be written is not begun.
 *
 * @throws Failure, with what is in the way
 */
export const ensureWritable = (path: string) => access(dirname(path), constants.W_OK).catch(unwritten(path));

/** @throws Failure, with what is in the way */
export const writeReport = (path: string, html: string) => writeFile(path, html).catch(unwritten(path));

const unwritten = (path: string) => (error: NodeJS.ErrnoException) => {
  const why = error.code === "ENOENT" ? "the folder is not there." : error.message;
  throw new Failure(`The report can't be written to ${path}: ${why}`);
};
