import { readFileSync } from "node:fs";
import { join } from "node:path";

export const readVersion = (): string =>
  (JSON.parse(readFileSync(join(import.meta.dirname, "../../package.json"), "utf8")) as { version: string }).version;
