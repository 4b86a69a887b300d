import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Logger as Log } from "pino";
import { fromPrior, type Prior } from "./model/prior.ts";
import { errorFields } from "./store/database-errors.ts";

/** What Dunlin knows before it meets its first merchant; null, and a line in the log, when the file cannot be used. */
export function readPrior(log: Log, path = join(import.meta.dirname, "model/prior.json")): Prior | null {
  try {
    const prior = JSON.parse(readFileSync(path, "utf8")) as Prior;
    fromPrior(prior);
    return prior;
  } catch (error) {
    log.error(errorFields(error), "prior.unreadable");
    return null;
  }
}
