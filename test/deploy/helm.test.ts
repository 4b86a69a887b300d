// The chart of deploy/helm, checked without Helm. `npm run check:deploy` compares the renderer with Go's own.
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { parse, parseAllDocuments } from "yaml";
import { SETTING_NAMES } from "../../src/config/setting-names.ts";
import { ROLES } from "../../src/start.ts";
import { CONTRADICTIONS, VARIATIONS, WRONG_VALUES } from "./chart-variations.ts";
import { createRenderer } from "./go-template.ts";
import { parseTemplates, TemplateError } from "./go-template-parser.ts";
import { CHART_FOLDER, chart, checkValues, defaultValues, renderChart, schema, type Values } from "./helm-chart.ts";
import { assertFields, type KubernetesObject, nameOf } from "./kubernetes-object.ts";

const ROOT = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(ROOT, path), "utf8");
/** The image has its own values of these, and the chart's ports and volumes follow them. */
const OWN_SETTINGS = ["DUNLIN_DATA", "DUNLIN_PORT", "DUNLIN_HOST", "DUNLIN_METRICS_HOST"];
const HELM_KEYS = /^(helm\.sh\/chart|app\.kubernetes\.io\/(instance|version|managed-by)|checksum\/\w+)$/;

/** Without the labels and checksums that only Helm's objects have. */
function withoutHelm<T>(value: T): T {
  if (Array.isArray(value)) return value.map(withoutHelm) as T;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, each]) => (HELM_KEYS.test(key) ? [] : [[key, withoutHelm(each)]])),
  ) as T;
}

/** The objects of a kustomization, with its images. */
function kustomized(folder: string): KubernetesObject[] {
  const { resources, images } = parse(read(`${folder}/kustomization.yaml`)) as {
    resources: string[];
    images: { name: string; newTag: string }[];
  };
  return resources
    .flatMap((file) => parseAllDocuments(read(`${folder}/${file}`)).map((each) => each.toJSON() as unknown))
    .map((each) => {
      const text = images.reduce(
        // The registry is each operator's own, so only tags are compared.
        (sum, { name, newTag }) => sum.replaceAll(`"image":"${name}"`, `"image":"${name}:${newTag}"`),
        JSON.stringify(each),
      );
      return JSON.parse(text) as KubernetesObject;
    });
}

const byName = (objects: readonly KubernetesObject[]) =>
  Object.fromEntries(objects.map((each) => [nameOf(each), each]));

interface Pod {
  metadata: { labels: Record<string, string>; annotations: Record<string, string> };
  spec: { containers: { ports: { name: string; containerPort: number }[]; image: string }[] };
}
const podsOf = (objects: readonly KubernetesObject[]) =>
  objects.filter(({ kind }) => kind === "Deployment").map(({ spec }) => (spec as { template: Pod }).template);
const rendered = (name: keyof typeof VARIATIONS) => byName(renderChart(VARIATIONS[name]!).objects);
const namesOfKind = (objects: Record<string, KubernetesObject>, kind: string) =>
  Object.keys(objects).filter((name) => name.startsWith(`${kind} `));

suite("chart of Helm", () => {
  test("its default values make the objects of deploy/kubernetes", () => {
    const objects = byName(withoutHelm(renderChart({}).objects));
    assert.deepEqual(objects, byName(kustomized("deploy/kubernetes")));
  });

  test("its version is the version of the program", () => {
    const { version } = JSON.parse(read("package.json")) as { version: string };
    assert.deepEqual([chart.version, chart.appVersion], [version, version]);
  });

  for (const [name, values] of Object.entries(VARIATIONS))
    test(`the schema accepts ${name}, and each object has the fields of its kind`, async () => {
      assert.deepEqual(checkValues(values), []);
      const { objects, notes } = renderChart(values);
      assert.equal(Object.keys(byName(objects)).length, objects.length);
      for (const each of objects) await assertFields(each);
      assert.match(notes, /in the namespace payments\.\n/);
    });

  test("no release selects the pods of another one", () => {
    for (const { kind, metadata, spec } of renderChart({}, "second").objects) {
      assert.match(metadata.name, /^second(-|$)/);
      const { selector } = (spec ?? {}) as { selector?: Record<string, unknown> };
      if (!selector) continue;
      const labels = kind === "Service" ? selector : (selector.matchLabels as Record<string, unknown>);
      assert.equal(labels["app.kubernetes.io/instance"], "second");
    }
  });

  test("a secret comes from the values, or exists under a name of the operator", () => {
    const own = rendered("a secret of the values");
    assert.deepEqual(own["Secret dunlin"]!.stringData, VARIATIONS["a secret of the values"]!.secret);
    const existing = rendered("a secret that exists");
    assert.deepEqual(namesOfKind(existing, "Secret"), []);
    assert.match(JSON.stringify(existing), /"secretRef":\{"name":"dunlin-vault"\}/);
    assert.match(JSON.stringify(existing), /"mountPath":"\/files","readOnly":true/);
  });

  test("pods are replaced when settings or secrets of the values change, and not otherwise", () => {
    const annotationsOf = (values: Values) =>
      JSON.stringify(podsOf(renderChart(values).objects).map(({ metadata }) => metadata.annotations));
    const before = annotationsOf({});
    assert.equal(annotationsOf({ roles: { api: { replicas: 4 } } }), before);
    assert.notEqual(annotationsOf({ settings: { DUNLIN_LOG_LEVEL: "debug" } }), before);
    assert.notEqual(annotationsOf(VARIATIONS["a secret of the values"]!), before);
  });

  test("an ingress leads each host to the service of its role", () => {
    const { spec } = rendered("an ingress")["Ingress dunlin"]!;
    assert.deepEqual(spec!.tls, [{ hosts: ["dunlin.example.com", "console.example.org"], secretName: "dunlin-tls" }]);
    const rules = spec!.rules as { host: string; http: { paths: { backend: { service: object } }[] } }[];
    assert.deepEqual(
      rules.map(({ host, http }) => [host, http.paths[0]!.backend.service]),
      [
        ["dunlin.example.com", { name: "dunlin-api", port: { name: "http" } }],
        ["console.example.org", { name: "dunlin-console", port: { name: "http" } }],
      ],
    );
  });

  test("a role that is off has no object, and the others keep theirs", () => {
    const off = rendered("one role that runs elsewhere");
    assert.deepEqual(
      Object.keys(off).filter((name) => name.endsWith("-console")),
      [],
    );
    assert.equal(namesOfKind(off, "Deployment").length, ROLES.length - 1);
    assert.doesNotMatch(JSON.stringify(off["Ingress dunlin"]), /console/);
  });

  test("a deployment names its replicas only if no autoscaler sets them", () => {
    const still = rendered("no autoscaling and no budgets");
    assert.deepEqual(
      [namesOfKind(still, "HorizontalPodAutoscaler"), namesOfKind(still, "PodDisruptionBudget")],
      [[], []],
    );
    for (const name of namesOfKind(still, "Deployment")) assert.equal(still[name]!.spec!.replicas, 1);
  });

  test("settings of the operator reach the program, its ports and its image", () => {
    const own = rendered("settings, images and nodes of an operator");
    assert.deepEqual(own["ConfigMap dunlin"]!.data, {
      DUNLIN_AUTH_URL: "https://console.dunlin.example.com",
      DUNLIN_BASE_URL: "https://dunlin.example.com",
      DUNLIN_DECISION_DAYS: "500",
      DUNLIN_LOG_LEVEL: "debug",
      DUNLIN_METRICS_PORT: "9500",
      DUNLIN_OIDC_NAME: "on",
      DUNLIN_TLS: "on",
    });
    for (const { metadata, spec } of podsOf(Object.values(own))) {
      assert.equal(metadata.annotations["prometheus.io/port"], "9500");
      const [container] = spec.containers;
      assert.equal(container!.ports.find(({ name }) => name === "metrics")!.containerPort, 9500);
      assert.equal(container!.image, "mirror/dunlin:0.2.0-1");
    }
    assert.deepEqual(own["Service dunlin-api"]!.spec!.ports, [{ name: "https", port: 443, targetPort: "https" }]);
  });
});

suite("values of the chart", () => {
  test("each setting of the program is either a setting or a secret of the values, or the chart's own", () => {
    const { settings, secret } = schema.properties;
    assert.deepEqual(
      [...Object.keys(settings!.properties), ...Object.keys(secret!.properties), ...OWN_SETTINGS].sort(),
      [...SETTING_NAMES, "DATABASE_URL"].sort(),
    );
    const known = [...SETTING_NAMES, "DATABASE_URL"];
    // A comment explains the variables that Kubernetes would add.
    for (const file of globSync("{*,templates/*}", { cwd: CHART_FOLDER }).filter((each) => /\.\w+$/.test(each)))
      for (const name of readFileSync(join(CHART_FOLDER, file), "utf8").match(/\bDUNLIN_[A-Z_]+\b|\bDATABASE_URL\b/g) ??
        [])
        assert.ok(known.includes(name) || name === "DUNLIN_API_PORT", `${file}: ${name}`);
  });

  test("each value has a comment of its own, or belongs to a role that repeats one", () => {
    const lines = read("deploy/helm/values.yaml").split("\n");
    const seen = new Set<string>([
      "requests",
      "limits",
      "cpu",
      "memory",
      "enabled",
      "resources",
      "autoscaling",
      "budget",
    ]);
    for (const [index, line] of lines.entries()) {
      const key = /^\s*(\w+):/.exec(line)?.[1];
      if (key === undefined || seen.has(key)) continue;
      if (/^\s*#/.test(lines[index - 1]!)) seen.add(key);
      else assert.ok(["image", "maxReplicas", "minAvailable"].includes(key), `${key} has no comment`);
    }
    assert.ok(Object.keys(defaultValues).length > 5);
  });

  test("the schema accepts the example of the guide, and its values reach the objects", () => {
    const example = /```yaml\n(image:[\s\S]*?)```/.exec(read("docs/guides/containers.md"))![1]!;
    const values = parse(example) as Values;
    assert.deepEqual(checkValues(values), []);
    const objects = byName(renderChart(values).objects);
    assert.ok(objects["Ingress dunlin"]);
    assert.match(JSON.stringify(objects["Deployment dunlin-api"]), /"image":"my-company\/dunlin:/);
    assert.equal(objects["HorizontalPodAutoscaler dunlin-deliver"]!.spec!.minReplicas, 3);
  });

  test("the schema refuses wrong values, and names them", () => {
    for (const [values, complaint] of WRONG_VALUES) assert.match(checkValues(values).join("\n"), complaint);
  });

  test("the templates refuse values that contradict each other", () => {
    for (const [values, complaint] of CONTRADICTIONS) {
      assert.deepEqual(checkValues(values), []);
      assert.throws(
        () => renderChart(values),
        (error) => error instanceof TemplateError && error.message.includes(complaint),
      );
    }
  });
});

suite("renderer of templates", () => {
  const render = (text: string, values: Values = {}) =>
    createRenderer(parseTemplates("a.yaml", text))("a.yaml", { Values: values });

  test("it renders the constructs that it knows", () => {
    assert.equal(render('a {{- if .Values.b }} b{{ else }} c {{- end }}\n{{ "x" | quote }}'), 'a c\n"x"');
    assert.equal(render("{{ range $k, $v := .Values }}{{ $k }}={{ $v }};{{ end }}", { b: 1, a: "x" }), "a=x;b=1;");
    assert.equal(render("{{ with .Values.a }}{{ . }}{{ $.Values.b }}{{ end }}", { a: "1", b: "2" }), "12");
    assert.equal(render('{{ define "d" }}<{{ .c }}>{{ end }}{{ $m := dict "c" 3 }}{{ include "d" $m }}'), "<3>");
    assert.equal(render('{{ "a\\nb" | nindent 2 }}{{/* none */}}'), "\n  a\n  b");
  });

  test("it refuses all else, and names the file and the line", () => {
    for (const [action, complaint] of [
      ["{{ tpl .Values.a . }}", /function "tpl" is not supported/],
      ["{{ .Values.a.b }}", /a missing value has no field "b"/],
      ["{{ .Values.a }}", /prints a missing value/],
      ["{{ $x }}", /variable \$x is not set/],
      ["{{ (dict).a }}", /a field of parentheses/],
      ["{{ 1.5 }}", /cannot read "1\.5"/],
      ['{{ template "a" . }}', /function "template" is not supported/],
      ["{{ block }}", /not supported/],
      ["{{ if true }}{{ else if true }}{{ end }}", /"else if true" is not supported here/],
      ["{{ if true }}", /a block has no end/],
      ["{{ end }}", /"end" closes nothing/],
      ["{{ range $x := .Values }}{{ end }}", /missing before ":="/],
      ['{{ eq "1" 1 }}', /cannot compare/],
      ["{{ quote 1000000 }}", /prints 1000000/],
      ['{{ printf "%d" 1 }}', /printf knows only %s/],
      ["{{ .Values.a := 1 }}", /missing before ":="/],
      ['{{ include "b" . }}', /template "b" is not defined/],
    ] as const)
      assert.throws(
        () => render(`\n\n${action}`),
        (error) =>
          error instanceof TemplateError && error.message.startsWith("a.yaml:3: ") && complaint.test(error.message),
        action,
      );
  });
});
