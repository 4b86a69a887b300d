// Called by `npm pack` before and after: compiles src/ with the workspace's TypeScript, then cleans up. Plain JavaScript, because
// npm may run on any Node.
import { spawnSync } from "node:child_process";
import { copyFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";

process.chdir(import.meta.dirname);
rmSync("dist", { recursive: true, force: true });
rmSync("LICENSE", { force: true });
if (process.argv[2] === "before") {
  copyFileSync("../LICENSE", "LICENSE");
  const tsc = createRequire(import.meta.url)
    .resolve("typescript/package.json")
    .replace("package.json", "bin/tsc");
  const { status } = spawnSync(process.execPath, [tsc, "--project", "."], { stdio: "inherit" });
  process.exitCode = status ?? 1;
}
