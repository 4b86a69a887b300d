import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../free-port.ts";
import { assertPrinted, fencesOf } from "./fences.ts";

const ROOT = join(import.meta.dirname, "../..");
const DEFAULT_PORT = 8443;
/** Not run: who runs this test has done the one, and is doing the other. */
const SHIMS = 'npm() { case "$1" in ci) test -d node_modules ;; test) ;; *) command npm "$@" ;; esac; }';
/** Commands that go on until somebody stops them, and what they print when they are under way. */
const ENDLESS: Record<string, RegExp> = { "npm run demo": / declined: /, "npm start": /Try it:/ };
const LIMIT_MS = 120_000;

const folder = mkdtempSync(join(tmpdir(), "dunlin-readme-"));
const started: ChildProcess[] = [];
after(async () => {
  for (const each of started) await end(each);
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

test("every command of the README works in its order on a fresh clone, and prints what the README says", async (t) => {
  // As good as a clone: everything but the data of whoever develops here.
  for (const name of readdirSync(ROOT)) if (name !== "data") symlinkSync(join(ROOT, name), join(folder, name));
  const port = await freePort();
  const local = (text: string) => text.replaceAll(String(DEFAULT_PORT), String(port));
  const fences = fencesOf(readFileSync(join(ROOT, "README.md"), "utf8"));
  for (const [n, { language, text: commands }] of fences.entries()) {
    if (language !== "sh") continue;
    const next = fences[n + 1];
    const output = next?.language === "text" && next.follows ? next.text : null;
    t.diagnostic(commands.split("\n")[0]!);
    const endless = Object.keys(ENDLESS).find((name) => commands.includes(name));
    const printed = await run(
      local(commands),
      port,
      endless === undefined ? null : ENDLESS[endless]!,
      endless === "npm start",
    );
    // Whoever types takes at least as long.
    await sleep(1500);
    if (output !== null) assertPrinted(printed, local(output), commands);
  }
});

/**
 * What a block prints until it ends.
 *
 * @param underWay  of one that does not end by itself: what it prints by then
 * @param stays  it goes on while the next blocks run
 */
async function run(commands: string, port: number, underWay: RegExp | null, stays: boolean): Promise<string> {
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, DUNLIN_PORT: String(port) };
  const child = spawn("bash", ["-e", "-c", `${SHIMS}\n${commands}`], { cwd: folder, env, detached: true });
  started.push(child);
  let printed = "";
  let all = "";
  const late = setTimeout(() => process.kill(-child.pid!, "SIGKILL"), LIMIT_MS);
  const seen = new Promise<void>((resolve) => {
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk) => {
        all += chunk;
        if (stream === child.stdout) printed += chunk;
        if (underWay?.test(printed)) resolve();
      });
  });
  const ended = once(child, "close");
  await (underWay ? Promise.race([seen, ended]) : ended);
  clearTimeout(late);
  if (underWay) assert.equal(child.exitCode, null, `it ended by itself:\n${all}`);
  if (underWay && !stays) await end(child);
  if (!underWay) assert.equal(child.exitCode, 0, `${commands}\n${all}`);
  return printed;
}

/** As Ctrl-C does: it reaches all processes of the terminal. */
async function end(child: ChildProcess) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  process.kill(-child.pid!, "SIGINT");
  await once(child, "close");
}
