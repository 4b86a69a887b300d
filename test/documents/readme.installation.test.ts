import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { findFreePort } from "../free-port.ts";
import { assertPrinted, findCodeFences } from "./code-fences.ts";
import { openTerminal, type Terminal } from "./terminal.ts";

const ROOT = join(import.meta.dirname, "../..");
const DEFAULT_PORT = 8443;
/** Not run: whoever runs this test has installed already, and is running the tests. */
const SHIMS = 'npm() { case "$1" in ci) test -d node_modules ;; test) ;; *) command npm "$@" ;; esac; }';
const DEMO = "npm run demo";
const SERVICE = "npm start";

const folder = mkdtempSync(join(tmpdir(), "dunlin-readme-"));
const terminals: Terminal[] = [];
after(async () => {
  await Promise.all(terminals.map((each) => each.end()));
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

test("every command of the README works in order on a fresh clone, and prints the documented output", async (t) => {
  // Equivalent to a clone: everything except the developer's own data.
  for (const name of readdirSync(ROOT))
    if (name !== "data" && name !== "try") symlinkSync(join(ROOT, name), join(folder, name));
  const port = await findFreePort();
  const local = (text: string) => text.replaceAll(String(DEFAULT_PORT), String(port));
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, DUNLIN_PORT: String(port) };
  const opened = () => {
    const terminal = openTerminal(folder, env, SHIMS);
    terminals.push(terminal);
    return terminal;
  };
  const second = opened();

  async function run(commands: string): Promise<string> {
    if (!commands.includes(DEMO) && !commands.includes(SERVICE)) return second.run(commands);
    const first = opened();
    first.start(commands);
    const isUnderWay = commands.includes(DEMO) ? / declined: / : /Try it:/;
    const printed = await first.until((said) => isUnderWay.test(said), commands);
    if (commands.includes(DEMO)) await first.end();
    return printed;
  }

  const fences = findCodeFences(readFileSync(join(ROOT, "README.md"), "utf8"));
  for (const [n, { language, text }] of fences.entries()) {
    if (language !== "sh") continue;
    t.diagnostic(text.split("\n")[0]!);
    const printed = await run(local(text));
    // A person takes at least as long to type.
    await sleep(1500);
    const next = fences[n + 1];
    if (next?.language === "text" && next.follows) assertPrinted(printed, local(next.text), text);
  }
});
