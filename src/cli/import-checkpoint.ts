import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

/** How far an import has come, in a file of the data folder: so that one that was killed goes on where it stopped. */
export interface ImportCheckpoint {
  /** Rows that are stored; undefined before all were found right. */
  stored(): number | undefined;
  set(stored: number): void;
  remove(): void;
}

/**
 * @param what  whatever makes it another import: merchant, kind, columns
 * @param newId  names what is written, since an import that seemed dead may still be at the same file
 */
export function openImportCheckpoint(
  dataDir: string,
  file: string,
  what: readonly string[],
  newId: () => string,
): ImportCheckpoint {
  const { size, mtimeMs } = statSync(file);
  const name = createHash("sha256")
    .update(JSON.stringify([resolve(file), size, mtimeMs, ...what]))
    .digest("hex");
  const folder = join(dataDir, "imports");
  const path = join(folder, `${name.slice(0, 32)}.json`);
  return {
    stored() {
      try {
        return (JSON.parse(readFileSync(path, "utf8")) as { stored: number }).stored;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
        throw error;
      }
    },
    set(stored) {
      mkdirSync(folder, { recursive: true });
      // Whole or not at all, whenever the process ends.
      const written = `${path}.${newId()}`;
      writeFileSync(written, JSON.stringify({ stored }));
      renameSync(written, path);
    },
    remove: () => rmSync(path, { force: true }),
  };
}
