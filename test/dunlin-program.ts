import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "..");

export interface ProgramResult {
  code: number;
  out: string;
  err: string;
}

// The cache holds the same code for the tests, so no command has to compile it.
const { PATH, NODE_COMPILE_CACHE } = process.env;

/** Runs `dunlin` as typed in a folder, with only these settings. */
export function createProgram(cwd: string, settings: () => Record<string, string>) {
  const start = (words: readonly string[], over: Record<string, string> = {}): ChildProcess =>
    spawn(process.execPath, [join(ROOT, "bin/dunlin.js"), ...words], {
      env: { PATH, NODE_COMPILE_CACHE, ...settings(), ...over },
      cwd,
    });

  /** Runs a command to its end, with this standard input. */
  async function run(words: readonly string[], over: Record<string, string> = {}, input = ""): Promise<ProgramResult> {
    const child = start(words, over);
    child.stdin!.on("error", () => {}).end(input); // a command that reads nothing may be gone by now
    let out = "";
    let err = "";
    child.stdout!.on("data", (chunk) => {
      out += chunk;
    });
    child.stderr!.on("data", (chunk) => {
      err += chunk;
    });
    const [code] = (await once(child, "close")) as [number];
    return { code, out, err };
  }

  return { start, run };
}
