import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { test } from "node:test";

const ROOT = resolve(import.meta.dirname, "..");
const PURE = ["domain", "rules", "model", "experiments", "decisions", "backtest"];
/** Which rooms a room may import; itself always. `root` is what lies right in src/. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  domain: [],
  rules: ["domain"],
  store: ["domain"],
  model: ["domain"],
  experiments: ["domain"],
  decisions: ["domain", "rules", "model"],
  backtest: ["domain", "rules", "model", "decisions"],
  auth: ["domain", "store"],
  delivery: ["domain", "store"],
  recovery: ["domain", "rules", "experiments", "model", "decisions", "store"],
  api: ["domain", "store", "auth", "recovery"],
  history: ["domain", "store", "recovery", "api"],
  console: [...PURE, "store", "auth", "recovery", "delivery", "api", "history"],
  root: [...PURE, "store", "auth", "recovery", "delivery", "api", "console", "cli"],
  cli: [...PURE, "store", "auth", "recovery", "delivery", "api", "history", "root", "simulator", "sdk"],
  sdk: [],
  simulator: ["sdk", ...PURE],
};
const BANNED_NAMES = /(^|[-/.])(utils?|helpers?|common|misc|shared|managers?|base|types)([-/.]|$)/;
/** Files that nobody imports because a person or npm starts them. */
const STARTED = [
  "src/main.ts",
  "src/openapi.ts",
  "src/reference.ts",
  "src/docs.ts",
  "src/backtest-worker.ts",
  "sdk/src/index.ts",
  "sdk/generate-records.ts",
];

interface Source {
  path: string;
  text: string;
  imports: string[];
}

const files = (folder: string): string[] =>
  readdirSync(join(ROOT, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
    .filter((path) => !path.includes("node_modules"));

function read(path: string): Source {
  const text = readFileSync(join(ROOT, path), "utf8");
  const specifiers = [...text.matchAll(/\bfrom\s+"([^"]+)"|\bimport\("([^"]+)"\)/g)].map(
    (match) => match[1] ?? match[2]!,
  );
  const imports = specifiers.flatMap((specifier) => {
    if (specifier === "#sdk") return ["sdk/src/index.ts"];
    return specifier.startsWith(".") ? [relative(ROOT, resolve(ROOT, dirname(path), specifier))] : [];
  });
  return { path, text, imports };
}

const all = ["src", "sdk", "simulator", "test", "bench"].flatMap(files).map(read);
const isTest = (path: string) => /\.(test|fixture)\.ts$/.test(path) || /^(test|bench)\/|\/test\//.test(path);
const product = all.filter(({ path }) => !isTest(path));

function roomOf(path: string): string {
  const [top, second] = path.split("/");
  if (top !== "src") return top!;
  return path.split("/").length === 2 ? "root" : second!;
}

const complaints = (check: (source: Source) => string | null | undefined, sources = product) =>
  sources.flatMap((source) => {
    const complaint = check(source);
    return complaint ? [`${source.path}: ${complaint}`] : [];
  });

test("rooms import only rooms below them: move what both need down, or pass it in as an argument", () => {
  const wrong = complaints(({ path, imports }) => {
    const room = roomOf(path);
    const allowed = MAY_IMPORT[room];
    if (!allowed) return `no such room as ${room}: give it a floor in test/house.test.ts`;
    const bad = imports.filter((target) => roomOf(target) !== room && !allowed.includes(roomOf(target)));
    return bad.length > 0 ? `${room} may not import ${bad.join(", ")}` : null;
  });
  assert.deepEqual(wrong, []);
});

test("no file imports itself in a circle: take out the piece that both sides need", () => {
  const byPath = new Map(product.map((source) => [source.path, source]));
  // Types vanish when the program runs, so only they may point back.
  const valueImports = ({ path, text }: Source) =>
    [...text.matchAll(/^(?:import|export)\s+(?!type\b)[^;]*?from\s+"(\.[^"]+)"/gms)].map((match) =>
      relative(ROOT, resolve(ROOT, dirname(path), match[1]!)),
    );
  const done = new Set<string>();
  const visit = (path: string, trail: readonly string[]) => {
    assert.ok(!trail.includes(path), `circle: ${[...trail, path].join(" -> ")}`);
    if (done.has(path)) return;
    for (const next of valueImports(byPath.get(path) ?? { path, text: "", imports: [] })) visit(next, [...trail, path]);
    done.add(path);
  };
  for (const { path } of product) visit(path, []);
});

test("no file is longer than 300 lines: find the two things in it", () => {
  assert.deepEqual(
    complaints(({ text }) => (text.split("\n").length > 301 ? `${text.split("\n").length - 1} lines` : null), all),
    [],
  );
});

test("every file is imported by another one: delete what nobody uses", () => {
  const imported = new Set(all.flatMap(({ imports }) => imports));
  const unused = complaints(({ path }) => (imported.has(path) || STARTED.includes(path) ? null : "nobody imports it"));
  assert.deepEqual(unused, []);
});

test("files are kebab-case and named for what they hold, not for being useful", () => {
  const wrong = complaints(
    ({ path }) => (BANNED_NAMES.test(path) || path !== path.toLowerCase() ? "call it by the thing it holds" : null),
    all,
  );
  assert.deepEqual(wrong, []);
});

test("a default export, a class that is no Error or an enum has no place here", () => {
  const wrong = complaints(({ text }) =>
    /^export default|^(export )?(const )?enum |^(export )?(abstract )?class (?!\w+ extends \w*(Error|Failure)\b)/m.test(
      text,
    )
      ? "export functions and values by name"
      : null,
  );
  assert.deepEqual(wrong, []);
});

test("time and chance enter in main.ts, clock.ts and open.ts, environment and streams in main.ts, and are passed in from there", () => {
  const clock = /\bnew Date\(\)|\bDate\.now\b|\bMath\.random\b|\bperformance\.now\b/;
  const chance =
    /\bimport \{[^}]*\brandom(Bytes|UUID|Int|Fill)[^}]*\} from "node:crypto"|\bcrypto\.(random|getRandom)\w+/;
  const surroundings = /\bprocess\.(env|std(in|out|err))\b/;
  const doors = ["src/clock.ts", "src/open.ts"];
  const wrong = complaints(({ path, text }) => {
    // The supervisor of the embedded server and the SDK live in real time; the demo's front has real timers.
    const isApart = roomOf(path) === "sdk" || /^(src\/store\/embedded|simulator\/demo)\//.test(path);
    if (isApart || path === "src/main.ts") return null;
    const refused = doors.includes(path) ? [surroundings] : [clock, chance, surroundings];
    const found = refused.map((each) => code(text).match(each)).find(Boolean);
    return found ? `${found[0]}: take it from Ports or an argument` : null;
  });
  assert.deepEqual(wrong, []);
});

test("SQL is written in src/store only, and the server's time is not asked there", () => {
  const wrong = complaints(({ path, text }) => {
    // Examples are a merchant's code with a database of its own.
    if (path.startsWith("sdk/examples/")) return null;
    const isSql =
      /\b(prepared|plannedOnce)\(|\b(select\s.+\sfrom\s|insert into\s|delete from\s|update\s+\w+\s+set\s)/i.test(
        code(text),
      );
    if (roomOf(path) !== "store") return isSql ? "SQL outside src/store" : null;
    return /\bnow\(\)\s*[,)<>=+-]|current_timestamp/.test(sqlOf(text)) ? "SQL asks for the time: pass it in" : null;
  });
  assert.deepEqual(wrong, []);
});

test("pure rooms touch no file, network, database or process", () => {
  const wrong = complaints(({ path, text }) => {
    if (!PURE.includes(roomOf(path))) return null;
    const found = text.match(/from "(node:(fs|net|tls|http|https|dns|child_process)[^"]*|pg|undici|fastify|pino)"/);
    return found ? `imports ${found[1]}: hand in the data instead` : null;
  });
  assert.deepEqual(wrong, []);
});

/** The text without comments, so that words in them don't count. */
const code = (text: string) => text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/^\s*\/\/.*$/gm, "");
const sqlOf = (text: string) => [...text.matchAll(/`[^`]*`|"[^"]*"/g)].map(([literal]) => literal).join("\n");
