// `npm run check:deploy`: asks the tools that Debian ships about the files for operators. A missing tool is named, and skipped.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkChart, hasGoLibraries } from "./check-chart.ts";

const ROOT = join(import.meta.dirname, "../..");
const EXPOSURE_MAX = 3;
const folder = mkdtempSync(join(tmpdir(), "dunlin-deploy-"));
const read = (path: string) => readFileSync(join(ROOT, path), "utf8");

interface Outcome {
  isGood: boolean;
  words: string;
}

const run = (program: string, args: readonly string[]) => {
  const { error, status, stdout, stderr } = spawnSync(program, args, { encoding: "utf8" });
  if (error) throw error;
  return { status, out: `${stdout}${stderr}`.trim() };
};

/** The unit, with a program and an account that this machine has. */
function localUnit(): string {
  const path = join(folder, "dunlin.service");
  const unit = read("deploy/systemd/dunlin.service")
    .replace(/^ExecStart=.*$/m, "ExecStart=/bin/true")
    .replace(/^WorkingDirectory=.*$/m, "WorkingDirectory=/")
    .replace(/^User=.*$/m, "User=daemon")
    .replace(/^Group=.*$/m, "Group=daemon");
  writeFileSync(path, unit);
  return path;
}

/** The rules that a guide tells operators to paste. */
function rulesIn(guide: string): string {
  const path = join(folder, "rules.yml");
  const rules = /```yaml\n(groups:[\s\S]*?)```/.exec(read(`docs/guides/${guide}.md`))![1]!;
  writeFileSync(path, rules);
  return path;
}

function checkRules(guide: string): Outcome {
  const { status, out } = run("promtool", ["check", "rules", rulesIn(guide)]);
  return { isGood: status === 0, words: out.split("\n").at(-1)!.trim() };
}

/** null if a part of the package is missing. */
type Check = () => Outcome | null;

const CHECKS: readonly (readonly [name: string, pack: string, program: string, check: Check])[] = [
  [
    "chart of Helm",
    "golang-go golang-github-masterminds-sprig-dev golang-github-xeipuuv-gojsonschema-dev golang-k8s-sigs-yaml-dev",
    "go",
    () => (hasGoLibraries() ? checkChart() : null),
  ],
  ["rules of alerts", "prometheus", "promtool", () => checkRules("alerts")],
  ["rules of objectives", "prometheus", "promtool", () => checkRules("objectives")],
  [
    "unit of systemd",
    "systemd",
    "systemd-analyze",
    () => {
      const { status, out } = run("systemd-analyze", ["verify", localUnit()]);
      return { isGood: status === 0 && out === "", words: out || "no complaint" };
    },
  ],
  [
    "exposure of the unit",
    "systemd",
    "systemd-analyze",
    () => {
      const { out } = run("systemd-analyze", ["security", "--offline=yes", localUnit()]);
      const level = Number(/exposure level for \S+: ([\d.]+)/.exec(out)?.[1] ?? Number.NaN);
      return { isGood: level <= EXPOSURE_MAX, words: `${level}, at most ${EXPOSURE_MAX}` };
    },
  ],
];

let failures = 0;
let skipped = 0;
try {
  for (const [name, pack, program, check] of CHECKS) {
    const isThere = spawnSync(program, ["--version"]).error === undefined;
    const outcome = isThere ? check() : null;
    if (outcome === null) skipped++;
    else if (!outcome.isGood) failures++;
    const sign = outcome === null ? "SKIPPED" : outcome.isGood ? "ok     " : "WRONG  ";
    console.log(`${sign} ${name}: ${outcome?.words ?? `not checked: install Debian's ${pack}`}`);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
if (skipped > 0)
  console.log(`${skipped} of ${CHECKS.length} checks were SKIPPED, so this run proves nothing about them.`);
process.exitCode = failures === 0 ? 0 : 1;
