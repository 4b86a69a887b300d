import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Logger as Log } from "pino";
import { fromPretrained, type PretrainedModel } from "../engine/learned/pretrained-model.ts";
import { errorFields } from "../postgres/database-errors.ts";

/** Logs an error and returns null if the file is unusable. */
export function readPretrainedModel(
  log: Log,
  path = join(import.meta.dirname, "../engine/learned/prior.json"),
): PretrainedModel | null {
  try {
    const model = JSON.parse(readFileSync(path, "utf8")) as PretrainedModel;
    fromPretrained(model);
    return model;
  } catch (error) {
    log.error(errorFields(error), "prior.unreadable");
    return null;
  }
}
