import { existsSync } from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import type { Writable } from "node:stream";
import { CommandFailure } from "./command.ts";

export interface ExportSink {
  name: string;
  /** Resolves when the target can take more. */
  write(text: string): Promise<void>;
  /** Ends a complete export. */
  finish(): Promise<void>;
  /** Discards an incomplete export. */
  abandon(): Promise<void>;
}

/** Only its owner can read the file. It has a temporary name until complete. */
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
