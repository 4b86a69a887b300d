import { existsSync } from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import type { Writable } from "node:stream";
import { CommandFailure } from "./command.ts";

/** The destination of an export. Every method throws a CommandFailure that names the destination. */
export interface ExportSink {
  /** As shown to people. */
  name: string;
  /** Resolves when the text is written, for backpressure. */
  write(text: string): Promise<void>;
  /** Called when all records are written. */
  finish(): Promise<void>;
  /** Called when the export failed. */
  abandon(): Promise<void>;
}

/**
 * Opens a file that only its owner can read. It has a temporary name until it is complete.
 *
 * @param replaces  whether to replace an existing file; without it an existing file is an error
 */
export async function openFileSink(
  path: string,
  replaces: boolean,
  randomBytes: (size: number) => Buffer,
): Promise<ExportSink> {
  const assertReplaceable = () => {
    if (!replaces && existsSync(path)) throw new CommandFailure(`${path} already exists. To replace it, add --force.`);
  };
  const withPath = <T>(work: Promise<T>) =>
    work.catch((error: Error) => {
      throw new CommandFailure(`Cannot write ${path}: ${error.message}`);
    });
  assertReplaceable();
  const temporaryPath = `${path}.${randomBytes(4).toString("hex")}.new`;
  const file = await withPath(open(temporaryPath, "wx", 0o600));
  return {
    name: path,
    write: (text) => withPath(file.writeFile(text)),
    async finish() {
      await withPath(file.sync());
      await withPath(file.close());
      assertReplaceable();
      await withPath(rename(temporaryPath, path));
    },
    async abandon() {
      await withPath(file.close());
      await withPath(rm(temporaryPath, { force: true }));
    },
  };
}

/** Writes to a stream, and leaves it open. */
export const createOutputSink = (output: Writable): ExportSink => ({
  name: "standard output",
  write: (text) =>
    new Promise((resolve, reject) =>
      output.write(text, (error) =>
        error
          ? reject(new CommandFailure(`Standard output closed before the export was complete: ${error.message}`))
          : resolve(),
      ),
    ),
  finish: async () => {},
  abandon: async () => {},
});
