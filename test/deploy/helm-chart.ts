// The chart of deploy/helm, rendered as Helm does it.
import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { Ajv, type ErrorObject } from "ajv";
import { parse, parseAllDocuments } from "yaml";
import { createRenderer } from "./go-template.ts";
import { isMap, type Value } from "./go-template-functions.ts";
import { parseTemplates } from "./go-template-parser.ts";
import type { KubernetesObject } from "./kubernetes-object.ts";

export const CHART_FOLDER = join(import.meta.dirname, "../../deploy/helm");
const read = (path: string) => readFileSync(join(CHART_FOLDER, path), "utf8");

export type Values = { [key: string]: Value };
export interface Rendered {
  objects: KubernetesObject[];
  notes: string;
}

export const chart = parse(read("Chart.yaml")) as { name: string; version: string; appVersion: string };
export const defaultValues = parse(read("values.yaml")) as Values;
export const schema = JSON.parse(read("values.schema.json")) as {
  properties: Record<string, { properties: Record<string, unknown> }>;
};
const validate = new Ajv({ strict: false, allErrors: true }).compile(schema);

/** As Helm merges them: a map into a map, null takes a default away, all else replaces it. */
function mergeValues(defaults: Values, given: Values): Values {
  const merged = { ...defaults };
  for (const [key, value] of Object.entries(given)) {
    const below = merged[key];
    if (value === null) delete merged[key];
    else merged[key] = isMap(below) && isMap(value) ? mergeValues(below, value) : value!;
  }
  return merged;
}

const wordsOf = ({ instancePath, message, params }: ErrorObject) =>
  `${instancePath.slice(1).replaceAll("/", ".")} ${message} ${JSON.stringify(params)}`;

/** Returns the complaints of the schema, such as `settings must NOT have additional properties {…}`. */
export function checkValues(given: Values): string[] {
  return validate(mergeValues(defaultValues, given)) ? [] : validate.errors!.map(wordsOf);
}

/** All that templates see, with `dunlin` as the release. */
export const contextOf = (given: Values, release = "dunlin") => ({
  Values: mergeValues(defaultValues, given),
  Release: { Name: release, Namespace: "payments", Service: "Helm" },
  Chart: { Name: chart.name, Version: chart.version, AppVersion: chart.appVersion },
});

/** Throws a TemplateError if a template cannot be rendered, or refuses the values. */
export function renderChart(given: Values, release?: string): Rendered {
  const files = globSync("templates/*", { cwd: CHART_FOLDER }).sort();
  const render = createRenderer(new Map(files.flatMap((file) => [...parseTemplates(file, read(file))])));
  const context = contextOf(given, release);
  // Files that begin with _ hold only definitions.
  const objects = files
    .filter((file) => file.endsWith(".yaml") && !basename(file).startsWith("_"))
    .flatMap((file) => parseAllDocuments(render(file, context), { version: "1.1" }))
    .flatMap((document) => {
      if (document.errors.length > 0) throw document.errors[0]!;
      const object = document.toJS() as KubernetesObject | null;
      return object === null ? [] : [object];
    });
  return { objects, notes: render("templates/NOTES.txt", context) };
}
