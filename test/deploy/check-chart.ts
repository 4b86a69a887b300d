// Renders the chart of Helm twice, with our renderer and with Go's own, and compares the objects. Go also checks the values.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { CONTRADICTIONS, VARIATIONS, WRONG_VALUES } from "./chart-variations.ts";
import { CHART_FOLDER, contextOf, type Rendered, renderChart, type Values } from "./helm-chart.ts";
import { nameOf } from "./kubernetes-object.ts";

/** Debian installs the sources of Go's libraries here. */
const LIBRARIES = "/usr/share/gocode";
const NEEDED = ["github.com/Masterminds/sprig", "github.com/xeipuuv/gojsonschema", "sigs.k8s.io/yaml"];

interface GoRendered extends Rendered {
  refusal: string;
}

export const hasGoLibraries = () => NEEDED.every((name) => existsSync(join(LIBRARIES, "src", name)));

function renderWithGo(contexts: readonly object[]): GoRendered[] {
  const { status, stdout, stderr } = spawnSync("go", ["run", join(import.meta.dirname, "render-chart.go")], {
    encoding: "utf8",
    input: JSON.stringify({ folder: CHART_FOLDER, contexts }),
    env: { ...process.env, GO111MODULE: "off", GOPATH: LIBRARIES, GOFLAGS: "" },
  });
  if (status !== 0) throw new Error(`render-chart.go ended with ${status}: ${stderr}`);
  return JSON.parse(stdout) as GoRendered[];
}

/** Returns the differences of one rendering; `complaint` is null for values that both must accept. */
function differences(name: string, values: Values, complaint: string | null, go: GoRendered): string[] {
  if (complaint !== null) return go.refusal.includes(complaint) ? [] : [`${name}: Go says "${go.refusal}"`];
  if (go.refusal !== "") return [`${name}: Go refuses it: ${go.refusal}`];
  const ours = renderChart(values);
  const theirs = new Map(go.objects.map((each) => [nameOf(each), each]));
  const changed = ours.objects.filter((each) => !isDeepStrictEqual(each, theirs.get(nameOf(each)))).map(nameOf);
  if (go.objects.length !== ours.objects.length)
    changed.push(`${go.objects.length} objects, ours ${ours.objects.length}`);
  if (go.notes !== ours.notes) changed.push("NOTES.txt");
  return changed.map((each) => `${name}: ${each} differs`);
}

export function checkChart(): { isGood: boolean; words: string } {
  const cases = [
    ...Object.entries(VARIATIONS).map(([name, values]) => ({ name, values, complaint: null })),
    ...CONTRADICTIONS.map(([values, complaint]) => ({ name: "a contradiction", values, complaint })),
    ...WRONG_VALUES.map(([values]) => ({ name: JSON.stringify(values), values, complaint: "values.schema.json: " })),
  ];
  const results = renderWithGo(cases.map(({ values }) => contextOf(values)));
  const wrong = cases.flatMap(({ name, values, complaint }, i) => differences(name, values, complaint, results[i]!));
  const count = results.reduce((sum, { objects }) => sum + objects.length, 0);
  return {
    isGood: wrong.length === 0,
    words:
      wrong.join("; ") ||
      `Go's text/template renders the same ${count} objects, and Go refuses the same ${cases.length - Object.keys(VARIATIONS).length} wrong values`,
  };
}
