import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { test } from "node:test";

const ROOT = resolve(import.meta.dirname, "..");
const PURE = ["domain", "rules", "learned", "statistics", "engine", "backtest"];
const BANNED_NAMES = /(^|[-/.])(utils?|helpers?|common|misc|shared|managers?|base|types)([-/.]|$)/;
/** Files that no other file imports, because a person, npm or a worker thread starts them. */
const STARTED = [
  "src/main.ts",
  "src/write-openapi.ts",
  "src/write-reference.ts",
  "src/write-docs.ts",
  "src/process/backtest-worker.ts",
  "lab/trial/carry-over-worker.ts",
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

/** Finds all imports: `path name` for a name of a file, `path` alone for a file whose exports may all be used. */
function findImportedNames(): Set<string> {
  const statement = /^import\s+(?:type\s+)?(?:\{([^}]*)\}|\*[^;]*?)\s*from\s+"(\.[^"]+)"|\bimport\("(\.[^"]+)"\)/gm;
  return new Set(
    all.flatMap(({ path, text }) =>
      [...text.matchAll(statement)].flatMap(([, names, from, whole]) => {
        const target = relative(ROOT, resolve(ROOT, dirname(path), from ?? whole!));
        if (names === undefined) return [target];
        return [...names.matchAll(/(?:^|,)\s*(?:type )?(\w+)/g)].map(([, name]) => `${target} ${name}`);
      }),
    ),
  );
}

const all = ["src", "sdk", "simulator", "connectors", "lab", "test", "bench"].flatMap(files).map(read);
const importedNames = findImportedNames();
const isTest = (path: string) =>
  /\.(test|fixture)\.ts$/.test(path) || /^(test|bench|lab\/studies)\/|\/test\//.test(path);
const product = all.filter(({ path }) => !isTest(path));

interface Room {
  name: string;
  /** null for modules outside the floors. */
  floor: number | null;
  /** Folders, files, or all files directly in a folder. */
  places: string[];
  mayImport: string;
}

/** The modules as ARCHITECTURE.md lists them. */
const ROOMS = readFileSync(join(ROOT, "ARCHITECTURE.md"), "utf8")
  .split("\n")
  .flatMap((line): Room[] => {
    const [, floor, names, mayImport] = /^\| (\d+|–) \| (.+?) \| .+ \| (.+?) \|$/.exec(line) ?? [];
    if (!floor || !names || !mayImport) return [];
    const places = [...names.matchAll(/`([^`]+)`/g)].map(([, place]) => place!);
    return [{ name: basename(places[0]!), floor: floor === "–" ? null : Number(floor), places, mayImport }];
  });

const roomAt = (path: string) =>
  ROOMS.find(({ places }) => places.includes(path)) ??
  ROOMS.find(
    ({ places }) => places.includes(`${dirname(path)}/*.ts`) || places.some((place) => path.startsWith(`${place}/`)),
  );

const roomOf = (path: string) => roomAt(path)?.name;

/** Returns the names of the modules that this one may import. */
function allowedIn({ floor, mayImport }: Room): string[] {
  if (mayImport === "nothing") return [];
  const below = ROOMS.filter((other) => floor !== null && other.floor !== null && other.floor < floor);
  return mayImport
    .split(", ")
    .flatMap((word) => (word === "everything below" ? below.map(({ name }) => name) : [word]));
}

const complaints = (check: (source: Source) => string | null | undefined, sources = product) =>
  sources.flatMap((source) => {
    const complaint = check(source);
    return complaint ? [`${source.path}: ${complaint}`] : [];
  });

test("the table of modules lets each import only from floors below it", () => {
  const wrong = ROOMS.flatMap((room) => {
    const bad = allowedIn(room).filter((name) => {
      const other = ROOMS.find((each) => each.name === name);
      return !other || (room.floor !== null && other.floor !== null && other.floor >= room.floor);
    });
    return bad.length > 0 ? [`${room.name}: ${bad.join(", ")}`] : [];
  });
  assert.deepEqual(wrong, []);
});

test("modules import only modules below them: move shared code down, or pass it in as an argument", () => {
  const wrong = complaints(({ path, imports }) => {
    const room = roomAt(path);
    if (!room) return "in no module: give it one in ARCHITECTURE.md";
    const allowed = allowedIn(room);
    const bad = imports.filter((target) => ![room.name, ...allowed].includes(roomOf(target) ?? ""));
    return bad.length > 0 ? `${room.name} may not import ${bad.join(", ")}` : null;
  });
  assert.deepEqual(wrong, []);
});

test("no file imports itself in a circle: take out the piece that both sides need", () => {
  const byPath = new Map(product.map((source) => [source.path, source]));
  // Types vanish at run time, so only type imports may point back.
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

test("no file is longer than 500 lines: find the two things in it", () => {
  assert.deepEqual(
    complaints(({ text }) => (text.split("\n").length > 501 ? `${text.split("\n").length - 1} lines` : null), all),
    [],
  );
});

test("every file is imported by another one: delete unused files", () => {
  const imported = new Set(all.flatMap(({ imports }) => imports));
  const unused = complaints(({ path }) => (imported.has(path) || STARTED.includes(path) ? null : "is not imported"));
  assert.deepEqual(unused, []);
});

test("every exported function or value of src is imported by another file: remove `export`, or delete unused code", () => {
  const exported = /^export (?:async )?(?:function\*?|const|class) (\w+)/gm;
  const wrong = complaints(({ path, text }) => {
    if (!path.startsWith("src/") || importedNames.has(path)) return null;
    const names = [...text.matchAll(exported)].map(([, name]) => name!);
    const unnamed = names.filter((name) => !importedNames.has(`${path} ${name}`));
    return unnamed.length > 0 ? `unused: ${unnamed.join(", ")}` : null;
  }, all);
  assert.deepEqual(wrong, []);
});

test("files are kebab-case and named for what they hold, not for being useful", () => {
  const wrong = complaints(
    ({ path }) => (BANNED_NAMES.test(path) || path !== path.toLowerCase() ? "call it by the thing it holds" : null),
    all,
  );
  assert.deepEqual(wrong, []);
});

test("no file has a default export, an enum, or a class that is not an Error", () => {
  const wrong = complaints(({ text }) =>
    /^export default|^(export )?(const )?enum |^(export )?(abstract )?class (?!\w+ extends \w*(Error|Failure)\b)/m.test(
      text,
    )
      ? "export functions and values by name"
      : null,
  );
  assert.deepEqual(wrong, []);
});

test("time and chance enter in main.ts, process/clock.ts and process/open-store.ts, environment and streams in main.ts, and are passed in from there", () => {
  const clock = /\bnew Date\(\)|\bDate\.now\b|\bMath\.random\b|\bperformance\.now\b/;
  const chance =
    /\bimport \{[^}]*\brandom(Bytes|UUID|Int|Fill)[^}]*\} from "node:crypto"|\bcrypto\.(random|getRandom)\w+/;
  const surroundings = /\bprocess\.(env|std(in|out|err))\b/;
  const doors = ["src/process/clock.ts", "src/process/open-store.ts"];
  const wrong = complaints(({ path, text }) => {
    // The supervisor of the embedded server and the SDK use real time; the demo's front has real timers.
    const isApart = roomOf(path) === "sdk" || /^(src\/postgres\/embedded|simulator\/demo)\//.test(path);
    if (isApart || path === "src/main.ts") return null;
    const refused = doors.includes(path) ? [surroundings] : [clock, chance, surroundings];
    const found = refused.map((each) => code(text).match(each)).find(Boolean);
    return found ? `${found[0]}: take it from Ports or an argument` : null;
  });
  assert.deepEqual(wrong, []);
});

test("SQL is only in src/postgres and src/tables, and does not read the server's time", () => {
  const wrong = complaints(({ path, text }) => {
    // Examples are a merchant's code with its own database.
    if (path.startsWith("sdk/examples/")) return null;
    const isSql =
      /\b(prepared|plannedOnce)\(|\b(select\s.+\sfrom\s|insert into\s|delete from\s|update\s+\w+\s+set\s)/i.test(
        code(text),
      );
    // A connector's tables are its own, as a merchant's are.
    if (roomOf(path) === "kit") return null;
    if (!["postgres", "tables"].includes(roomOf(path) ?? ""))
      return isSql ? "SQL outside src/postgres and src/tables" : null;
    return /\bnow\(\)\s*[,)<>=+-]|current_timestamp/.test(sqlOf(text)) ? "SQL asks for the time: pass it in" : null;
  });
  assert.deepEqual(wrong, []);
});

test("no two statements share a name: a connection runs the one that it met first, or refuses the other", () => {
  const seen = new Map<string, string>();
  const wrong = complaints(({ path, text }) => {
    let taken: string | null = null;
    for (const [, name] of text.matchAll(/\b(?:prepared|plannedOnce)\(\s*"(\w+)"/g)) {
      if (seen.has(name!)) taken ??= `statement ${name} is in ${seen.get(name!)} too`;
      seen.set(name!, path);
    }
    return taken;
  });
  assert.ok(seen.size > 100);
  assert.deepEqual(wrong, []);
});

test("pure modules touch no file, network, database or process", () => {
  const wrong = complaints(({ path, text }) => {
    if (!PURE.includes(roomOf(path) ?? "")) return null;
    const found = text.match(/from "(node:(fs|net|tls|http|https|dns|child_process)[^"]*|pg|undici|fastify|pino)"/);
    return found ? `imports ${found[1]}: hand in the data instead` : null;
  });
  assert.deepEqual(wrong, []);
});

/** Without comments, so that words in them do not count. */
const code = (text: string) => text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/^\s*\/\/.*$/gm, "");
const sqlOf = (text: string) => [...text.matchAll(/`[^`]*`|"[^"]*"/g)].map(([literal]) => literal).join("\n");
