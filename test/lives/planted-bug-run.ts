import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { withPatchedCopy } from "../patched-copy.ts";
import { PLANTED_LIVES_BUGS } from "./planted-bugs.ts";

/** Plants one bug at a time in a copy of the source, and runs lives in the copy. Returns how many bugs were not caught. */
export async function runPlantedBugs(lives: number, seed: number, print: (line: string) => void): Promise<number> {
  let missed = 0;
  for (const { name, patches } of PLANTED_LIVES_BUGS) {
    const first = await withPatchedCopy(name, patches, (root) => findFirstProblem(root, lives, seed));
    if (first === null) missed++;
    print(first === null ? `MISSED  ${name}` : `caught  ${name}: ${first}`);
  }
  return missed;
}

async function findFirstProblem(root: string, lives: number, seed: number): Promise<string | null> {
  const words = [join(root, "test", "lives.ts"), "--lives", String(lives), "--seed", String(seed)];
  const child = spawn(process.execPath, words, { stdio: ["ignore", "ignore", "pipe"] });
  let says = "";
  child.stderr.on("data", (chunk) => {
    says += chunk;
  });
  const [code] = (await once(child, "close")) as [number];
  return code === 0 ? null : (says.split("\n").find((line) => line.startsWith("life")) ?? says).slice(0, 140);
}
