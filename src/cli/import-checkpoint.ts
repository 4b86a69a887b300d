import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

/** Kept in the data folder. An interrupted import resumes there. */
export interface ImportCheckpoint {
  /** undefined before all rows were checked. */
  storedRows(): number | undefined;
  setStoredRows(stored: number): void;
  remove(): void;
}

/**
 * @param identity  merchant, kind, columns: another one is another import
 * @param newId  names temporary files, because two processes may run the same import
 */
export function openImportCheckpoint(
  dataDir: string,
  file: string,
  identity: readonly string[],
  newId: () => string,
): ImportCheckpoint {
  const { size, mtimeMs } = statSync(file);
  const name = createHash("sha256")
    .update(JSON.stringify([resolve(file), size, mtimeMs, ...identity]))
    .digest("hex");
  const folder = join(dataDir, "imports");
  const path = join(folder, `${name.slice(0, 32)}.json`);
  return {
    storedRows() {
      try {
        return (JSON.parse(readFileSync(path, "utf8")) as { stored: number }).stored;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
        throw error;
      }
    },
    setStoredRows(stored) {
      mkdirSync(folder, { recursive: true });
      // Renamed, so that a crash leaves no half-written file.
      const temporaryPath = `${path}.${newId()}`;
      writeFileSync(temporaryPath, JSON.stringify({ stored }));
      renameSync(temporaryPath, path);
    },
    remove: () => rmSync(path, { force: true }),
  };
}
