import { existsSync } from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import type { Writable } from "node:stream";
import { CommandFailure } from "./command.ts";

/** Where an export goes, piece by piece. All of it throws Failure, which names the place. */
export interface ExportSink {
  /** As people know it. */
  name: string;
  /** Resolves when the piece is taken. */
  write(text: string): Promise<void>;
  /** All was written. */
  finish(): Promise<void>;
  /** Not all will be. */
  abandon(): Promise<void>;
}

/**
 * A file that only its owner may read, and that is there when it is whole: until then it has another name beside its own.
 *
 * @param replaces  whether one that is there already is replaced; else it stays, and nothing is written
 */
export async function openFileSink(
  path: string,
  replaces: boolean,
  randomBytes: (size: number) => Buffer,
): Promise<ExportSink> {
  const spare = () => {
    if (!replaces && existsSync(path)) throw new CommandFailure(`${path} is there already; --force replaces it`);
  };
  const placed = <T>(work: Promise<T>) =>
    work.catch((error: Error) => {
      throw new CommandFailure(`cannot write ${path}: ${error.message}`);
    });
  spare();
  const unfinished = `${path}.${randomBytes(4).toString("hex")}.new`;
  const file = await placed(open(unfinished, "wx", 0o600));
  return {
    name: path,
    write: (text) => placed(file.writeFile(text)),
    async finish() {
      await placed(file.sync());
      await placed(file.close());
      spare();
      await placed(rename(unfinished, path));
    },
    async abandon() {
      await placed(file.close());
      await placed(rm(unfinished, { force: true }));
    },
  };
}

/** @param output  which stays open */
export const createOutputSink = (output: Writable): ExportSink => ({
  name: "standard output",
  write: (text) =>
    new Promise((resolve, reject) =>
      output.write(text, (error) =>
        error ? reject(new CommandFailure(`standard output was closed before the end: ${error.message}`)) : resolve(),
      ),
    ),
  finish: async () => {},
  abandon: async () => {},
});
