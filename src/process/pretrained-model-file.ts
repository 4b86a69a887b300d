import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Logger as Log } from "pino";
import { fromPretrained, type PretrainedModel } from "../engine/learned/pretrained-model.ts";
import { errorFields } from "../postgres/database-errors.ts";

/** What Dunlin knows before it meets its first merchant; null, and a line in the log, when the file cannot be used. */
export function readPretrainedModel(
  log: Log,
  path = join(import.meta.dirname, "../engine/learned/prior.json"),
): PretrainedModel | null {
  try {
    const prior = JSON.parse(readFileSync(path, "utf8")) as PretrainedModel;
    fromPretrained(prior);
    return prior;
  } catch (error) {
    log.error(errorFields(error), "prior.unreadable");
    return null;
  }
}
