import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  globSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { findFreePort } from "../free-port.ts";
import { assertPrinted, type CodeFence, findCodeFences, isPrinted } from "./code-fences.ts";
import { PRELUDES } from "./snippet-preludes.ts";
import { openTerminal, type Terminal } from "./terminal.ts";

const ROOT = join(import.meta.dirname, "../..");
/** In the order in which a new user reads them, all with the service that the quickstart starts. */
const GUIDES = ["quickstart", "webhooks", "experiments", "import", "console", "security", "self-hosting"];
/** Not typed: one fetches linters from a registry, the other needs an account; connect-stripe.test.ts runs its commands on a double. */
const NOT_TYPED = ["openapi", "stripe"];
const SNIPPETS = ["sdk/README.md", "docs/guides/ingest.md", "docs/guides/listing-and-sync.md"];
/** Commands that do not end by themselves, with their output when ready. */
const ENDLESS: Record<string, RegExp> = {
  "npx node try/endpoint.ts": /waiting for events/,
  "npx dunlin listen": /Listening on/,
  "npm start": /Try it:/,
};
/** The terminal for blocks for which the guide names none. */
const LAST = "4";

let env: Record<string, string | undefined>;
let ports: Record<string, number>;
const folder = mkdtempSync(join(tmpdir(), "dunlin-guides-"));
const terminals = new Map<string, Terminal>();

before(async () => {
  // Equivalent to a clone: everything except the developer's own data.
  for (const name of readdirSync(ROOT))
    if (name !== "data" && name !== "try") symlinkSync(join(ROOT, name), join(folder, name));
  mkdirSync(join(folder, "data"));
  ports = { 8443: await findFreePort(), 8444: await findFreePort(), 3000: await findFreePort() };
  const { PATH, HOME } = process.env;
  const { NODE_COMPILE_CACHE } = process.env;
  env = { PATH, HOME, NODE_COMPILE_CACHE, DUNLIN_PORT: String(ports[8443]) };
});
after(async () => {
  await Promise.all([...terminals.values()].map((each) => each.end()));
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

// The README's test covers npm and npx themselves. They would take longer than the commands.
const SHIMS = `
NODE='${process.execPath}'
npm() { case "$1" in ci) test -d node_modules ;; start) "$NODE" bin/dunlin.js serve ;; *) command npm "$@" ;; esac; }
npx() { case "$1" in dunlin) shift; "$NODE" bin/dunlin.js "$@" ;; node) shift; "$NODE" "$@" ;; *) command npx "$@" ;; esac; }`;

/** As in the guide, but with free ports. */
const local = (text: string) =>
  Object.entries(ports).reduce((each, [port, free]) => each.replaceAll(port, String(free)), text);

/** Terminal 4 stays open from guide to guide. */
function terminal(number: string): Terminal {
  const open = terminals.get(number) ?? openTerminal(folder, env, SHIMS);
  terminals.set(number, open);
  return open;
}

const numberIn = (paragraph: string) => /Terminal (\d)/.exec(paragraph)?.[1];

async function typed(fences: readonly CodeFence[], tell: (line: string) => void) {
  let printed = "";
  let commands = "";
  for (const { language, text, before: paragraph, follows } of fences) {
    const number = numberIn(paragraph);
    if (language === "ts") {
      const name = /`([\w/-]+\.ts)`/.exec(paragraph)?.[1];
      if (name) writeFileSync(join(folder, name), local(text));
    } else if (language === "sh") {
      commands = text;
      tell(text.split("\n")[0]!);
      const endless = Object.keys(ENDLESS).find((start) => text.includes(start));
      if (endless === undefined) printed = await terminal(number ?? LAST).run(local(text));
      else {
        terminal(number!).start(local(text));
        await terminal(number!).until((said) => ENDLESS[endless]!.test(said), text);
      }
    } else if (language === "text") {
      if (follows) assertPrinted(printed, local(text), commands);
      else await terminal(number!).until((said) => isPrinted(said, local(text)), text);
    }
  }
}

test("a test runs the commands and the TypeScript of every document", () => {
  const having = (language: string) =>
    ["README.md", "sdk/README.md", ...globSync("docs/**/*.md", { cwd: ROOT })]
      .filter((file) =>
        findCodeFences(readFileSync(join(ROOT, file), "utf8")).some((each) => each.language === language),
      )
      .sort();
  const typedGuides = [...GUIDES, ...NOT_TYPED].map((guide) => `docs/guides/${guide}.md`);
  assert.deepEqual(having("sh"), ["README.md", ...typedGuides].sort());
  assert.deepEqual(having("ts"), ["docs/guides/quickstart.md", ...SNIPPETS].sort());
});

for (const guide of GUIDES)
  test(`every command of the guide ${guide} works in order, and prints the documented output`, async (t) => {
    const fences = findCodeFences(readFileSync(join(ROOT, `docs/guides/${guide}.md`), "utf8"));
    await typed(fences, (line) => t.diagnostic(line));
  });

test("doctor finds the installation healthy after all guides, and no files are left over", async () => {
  const printed = await terminal(LAST).run('npx dunlin doctor; echo "exit $?"');
  assert.match(printed, /exit 0$/m);
  const made = readdirSync(folder).filter((name) => !lstatSync(join(folder, name)).isSymbolicLink());
  assert.deepEqual(made.filter((name) => !name.startsWith(".typed-")).sort(), ["data", "try"]);
});

test("every TypeScript snippet compiles, and runs with the service", () => {
  const snippets = join(folder, "snippets");
  mkdirSync(snippets);
  for (const file of SNIPPETS) {
    const [first, ...others] = findCodeFences(readFileSync(join(ROOT, file), "utf8"))
      .filter(({ language }) => language === "ts")
      .map(({ text }) =>
        local(text).replaceAll("@dunlin/sdk", "#sdk").replace(".listen(443)", '.listen(0, "127.0.0.1")'),
      );
    const imports = new Set<string>();
    const body = [first!, ...others.map((each) => `{\n${each}}\n`)].join("\n").replace(/^import .*\n/gm, (line) => {
      imports.add(line);
      return "";
    });
    const name = file.replaceAll(/\W/g, "-");
    writeFileSync(
      join(snippets, `${name}.ts`),
      `${[...imports].join("")}${PRELUDES[file]}\n${body}\nprocess.exit(0);\n`,
    );
  }
  const include = ["snippets/*.ts", "try/endpoint.ts"];
  const compilerOptions = { noUnusedLocals: false };
  writeFileSync(
    join(folder, "snippets.json"),
    JSON.stringify({ extends: "./tsconfig.json", include, compilerOptions }),
  );
  const options = {
    cwd: folder,
    env: { ...env, DUNLIN_API_KEY: readFileSync(join(folder, "data/api-key"), "utf8").trim() },
  };
  const run = (...words: string[]) => {
    try {
      return execFileSync(process.execPath, words, { ...options, encoding: "utf8", stdio: "pipe" });
    } catch (error) {
      throw new Error(
        `${words.join(" ")}\n${(error as { stdout: string }).stdout}${(error as { stderr: string }).stderr}`,
      );
    }
  };
  run(join(ROOT, "node_modules/typescript/bin/tsc"), "-p", "snippets.json");
  for (const name of readdirSync(snippets)) run(join("snippets", name));
});
