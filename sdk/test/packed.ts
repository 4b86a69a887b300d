import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";

const ROOT = join(import.meta.dirname, "../..");

/** Packs a copy of the SDK, so that concurrent tests see no partial package. The caller must remove `folder`. */
export function packedSdk(): { folder: string; tarball: string } {
  const folder = mkdtempSync(join(tmpdir(), "dunlin-sdk-"));
  for (const name of ["LICENSE", "tsconfig.json", "sdk"])
    cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  const printed = run("npm", ["pack", "--json", "--pack-destination", folder], join(folder, "sdk"));
  // npm 11 prints a list, npm 12 an object keyed by name.
  const [packed] = Object.values(JSON.parse(printed) as Record<string, { filename: string }>);
  return { folder, tarball: join(folder, packed!.filename) };
}

/** Creates an empty project below `parent`, and installs the tarball offline. */
export function projectWith(tarball: string, parent: string, name: string): string {
  const project = join(parent, name);
  mkdirSync(project);
  writeFileSync(join(project, "package.json"), JSON.stringify({ name, private: true, type: "module" }));
  run("npm", ["install", "--offline", "--no-audit", "--no-fund", tarball], project);
  return project;
}

/** Returns the output of a program. @throws with all of its output if it fails */
export function run(program: string, words: readonly string[], cwd: string, env = process.env): string {
  const { status, stdout, stderr, error } = spawnSync(program, words, { cwd, env, encoding: "utf8" });
  if (status !== 0) throw new Error(`${program} ${words.join(" ")}: ${error ?? ""}\n${stdout}\n${stderr}`);
  return stdout;
}

/** Returns the machine's Node 20, the oldest supported version, or else this one. */
export function oldestNode(): string {
  const paths = (process.env.PATH ?? "").split(delimiter).map((folder) => join(folder, "node"));
  const isOld = (path: string) => existsSync(path) && /^v20\./.test(run(path, ["--version"], "."));
  return paths.find(isOld) ?? process.execPath;
}
