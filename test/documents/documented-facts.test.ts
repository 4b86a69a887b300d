import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { createHealth } from "../../connectors/kit/health.ts";
import { buildCliReference } from "../../src/cli/cli-reference.ts";
import type { Command } from "../../src/cli/command.ts";
import { COMMAND_NAMES, loadAllCommands } from "../../src/cli/commands.ts";
import { readSettings } from "../../src/config/config.ts";
import { SETTING_NAMES } from "../../src/config/setting-names.ts";
import { parseRules } from "../../src/engine/rules/rule-overrides.ts";
import { createMetrics } from "../../src/metrics/metrics.ts";
import { createServiceFigures } from "../../src/metrics/service-figures.ts";
import { prepared } from "../../src/postgres/database.ts";
import { DATABASE_ROLES } from "../../src/postgres/roles.ts";
import { createRealPorts } from "../../src/process/clock.ts";
import { createLoggedProblems } from "../../src/process/logged-problems.ts";
import { createTestDatabase, type TestDatabase } from "../database.ts";
import { type CodeFence, findCodeFences } from "./code-fences.ts";

const ROOT = join(import.meta.dirname, "../..");
/** Documents with instructions and expected results. Decision records are left out: they describe the past. */
const FILES = [
  "README.md",
  "sdk/README.md",
  ...globSync("docs/{README.md,sources.md,measurements.md,{guides,reference}/*.md}", { cwd: ROOT }).sort(),
];
const documents = FILES.map((file) => ({ file, text: readFileSync(join(ROOT, file), "utf8") }));
const read = (file: string) => readFileSync(join(ROOT, file), "utf8");
const scripts = Object.keys((JSON.parse(read("package.json")) as { scripts: Record<string, string> }).scripts);
const codeIn = (text: string) => text.matchAll(/`([^`\n]+)`/g);

let commands: Command[];
let database: TestDatabase;
before(async () => {
  commands = await loadAllCommands();
  database = await createTestDatabase();
});
after(() => database.drop());

/** Returns all matches in any document, with their places. */
const everywhere = (pattern: RegExp) =>
  documents.flatMap(({ file, text }) => [...text.matchAll(pattern)].map((match) => ({ file, match })));

test("every setting that a document names exists, and the reference has all of them with their defaults", () => {
  const known = new Set([...SETTING_NAMES, "DUNLIN_API_KEY", "DUNLIN_WEBHOOK_TOKEN"]);
  for (const { file, match } of everywhere(/\bDUNLIN_[A-Z_]+\b/g))
    assert.ok(known.has(match[0]), `${file}: ${match[0]}`);
  const rows = [...read("docs/reference/settings.md").matchAll(/^\| (`.*?`) \| .* \|(?: (.*?))? \|$/gm)];
  const named = rows.flatMap(([, names]) => [...codeIn(names!)].map(([, name]) => name!));
  assert.deepEqual(named.sort(), [...SETTING_NAMES, "DATABASE_URL"].sort());
  const { settings } = readSettings({}, () => null, new Date());
  const byDefault = (name: string) => rows.find(([, names]) => names!.includes(`\`${name}\``))![2]!;
  assert.equal(byDefault("DUNLIN_HOST"), `\`${settings.host}\`, \`${settings.port}\``);
  assert.equal(byDefault("DUNLIN_TLS"), `\`${settings.tls}\``);
  assert.equal(byDefault("DUNLIN_BASE_URL"), `\`${settings.baseUrl.replace(/\d+$/, "PORT")}\``);
  for (const [name, value] of [
    ["DUNLIN_DELIVERY_LOG_DAYS", settings.deliveryLogDays],
    ["DUNLIN_DECISION_DAYS", settings.decisionDays],
  ] as const) {
    assert.equal(byDefault(name), `${value} (60 or more)`);
    assert.match(readSettings({ [name]: "59" }, () => null, new Date()).problems[0]!.problem, /from 60/);
  }
  for (const [name, value] of [
    ["DUNLIN_METRICS_PORT", settings.metricsPort],
    ["DUNLIN_WEBHOOK_CA", settings.webhookCa],
    ["DUNLIN_RULES", settings.rules],
  ] as const)
    assert.deepEqual([value, /^(off|none|ours)$/.test(byDefault(name))], [null, true], name);
});

test("every command that a document names exists, with the options shown", () => {
  const words = /`(?:npx )?dunlin\s([^`]+)`|^\s*(?:\w+=\$\()?(?:npx )?dunlin ([^|>\n]+)/gm;
  const found = everywhere(words).filter(({ file }) => file !== "docs/reference/cli.md");
  assert.ok(found.length > 40, `${found.length}`);
  for (const { file, match } of found) {
    const said = (match[1] ?? match[2]!).replaceAll(/\s+/g, " ").trim();
    if (/^(COMMAND|--help|demo|is ready)\b/.test(said)) continue;
    const name = COMMAND_NAMES.filter((each) => `${said} `.startsWith(`${each} `)).sort(
      (a, b) => b.length - a.length,
    )[0];
    assert.ok(name, `${file}: there is no command in "${said}"`);
    const { options } = commands.find((each) => each.name === name)!;
    for (const [, option] of said.matchAll(/(?<=\s)--([a-z-]+)/g))
      assert.ok(option === "help" || Object.hasOwn(options, option!), `${file}: ${name} has no --${option}`);
  }
});

test("a command in a message or on a page can be run unchanged", () => {
  const names = [...new Set(COMMAND_NAMES.map((name) => name.split(" ")[0]))].join("|");
  const bare = new RegExp(`^(?!\\s*(?:\\*|/\\*|//)).*(?<!npx )\\bdunlin (?:${names}|--help|COMMAND)\\b.*$`, "gm");
  for (const file of globSync("src/{cli,console,delivery}/**/*.ts", { cwd: ROOT }).concat("src/main.ts"))
    for (const [line] of file.endsWith(".test.ts") ? [] : read(file).matchAll(bare)) assert.fail(`${file}: ${line}`);
});

test("the command reference lists each command once, with all its options", () => {
  const page = buildCliReference(commands);
  for (const { name, options, positionals } of commands) {
    assert.equal(page.split(`\n### dunlin ${name}\n`).length, 2, name);
    const section = page.split(`\n### dunlin ${name}\n`)[1]!.split("\n### ")[0]!;
    for (const option of Object.keys(options))
      assert.match(section, new RegExp(`--${option}\\b`), `${name} --${option}`);
    for (const word of positionals) assert.match(section, new RegExp(`\\b${word}\\b`), `${name} ${word}`);
  }
});

test("the README and package.json require the same Node version", () => {
  const { engines } = JSON.parse(read("package.json")) as { engines: { node: string } };
  const [, version] = /any Node from version (\d+) on/.exec(read("README.md"))!;
  assert.equal(engines.node, `>=${version}`);
});

test("every script that a document names is in package.json", () => {
  for (const { file, match } of everywhere(/npm run ([a-z][\w:-]*)/g))
    assert.ok(scripts.includes(match[1]!), `${file}: npm run ${match[1]}`);
});

test("every field and name of the SDK that a document names is in openapi.json or in the SDK's code", () => {
  const openApi = JSON.parse(read("openapi.json")) as object;
  const fields = new Set<string>();
  JSON.stringify(openApi, (key, value) => {
    for (const name of [key, (value as { name?: unknown } | null)?.name])
      if (typeof name === "string") fields.add(name);
    return value;
  });
  const sdk = globSync("sdk/{src,examples}/**/*.ts", { cwd: ROOT }).map(read).join("\n");
  const merchantFiles =
    /^(sdk\/|docs\/guides\/(ingest|webhooks|listing-and-sync|errors-and-limits|concepts)|docs\/reference\/(api|webhook-))/;
  const named = documents
    .filter(({ file }) => merchantFiles.test(file))
    .flatMap(({ file, text }) =>
      [...codeIn(text)].flatMap(([, code]) => code!.split(/[^\w…]+/).map((name) => ({ file, name }))),
    )
    .filter(({ name }) => /^[a-z]+[A-Z]\w*…?$/.test(name));
  assert.ok(named.length > 60, `${named.length}`);
  for (const { file, name } of named)
    assert.ok(
      fields.has(name) ||
        (name.endsWith("…") && [...fields].some((field) => field.startsWith(name.slice(0, -1)))) ||
        new RegExp(`\\b${name}\\b`).test(sdk),
      `${file}: ${name}`,
    );
});

test("the code writes every log line that the guides name", () => {
  const sources = globSync("src/**/*.ts", { cwd: ROOT }).map(read).join("\n");
  const isLine = /^[a-z_]+\.[a-z_]+$/;
  const isFile = /\.(ts|md|json|http|csv|html|txt|key|env|service|pem)$/;
  const named = ["docs/guides/operating.md", "docs/guides/self-hosting.md"].flatMap((file) =>
    [...codeIn(read(file))].map(([, code]) => code!),
  );
  const lines = named.filter((code) => isLine.test(code) && !isFile.test(code) && code !== "noun.verb");
  assert.ok(lines.length >= 8, `${lines}`);
  for (const line of lines)
    assert.ok(sources.includes(`"${line}"`) || sources.includes(`}.${line.split(".")[1]}\``), line);
});

/** Returns the names that Prometheus stores metrics under, with their labels. */
function storedMetrics(): Map<string, readonly string[]> {
  const { registry, watchDeliverer, watchService, watchPresence } = createMetrics(
    database.db,
    createRealPorts({ serviceAt: new Date(), realAt: new Date(), rate: 1 }),
  );
  // These metrics exist once there is a sender; this test measures nothing.
  watchDeliverer(() => assert.fail());
  watchPresence(
    () => assert.fail(),
    createLoggedProblems(() => assert.fail()),
  );
  const ports = createRealPorts({ serviceAt: new Date(), realAt: new Date(), rate: 1 });
  watchService(
    createServiceFigures({
      db: database.db,
      owner: database.db,
      ports,
      pools: {},
      certificates: {},
      freeBytes: () => assert.fail(),
      clock: () => assert.fail(),
    }),
  );
  const stored = new Map<string, readonly string[]>([["up", ["job", "instance"]]]);
  const connector = createHealth({ store: undefined as never, name: "stripe", now: () => new Date() }).registry;
  const all = [registry, connector].flatMap(
    (each) => each.getMetricsAsArray() as unknown as { name: string; type: string; labelNames: string[] }[],
  );
  for (const { name, type, labelNames } of all) {
    for (const suffix of type === "histogram" ? ["_bucket", "_count", "_sum"] : [""])
      stored.set(name + suffix, suffix === "_bucket" ? [...labelNames, "le"] : labelNames);
  }
  return stored;
}

test("every metric that a document names exists, with the labels shown", () => {
  const stored = storedMetrics();
  const isKnown = (name: string) => stored.has(name) || stored.has(`${name}_bucket`);
  const labelsOf = (name: string) => stored.get(name) ?? stored.get(`${name}_bucket`)!;
  const found = everywhere(/\b(dunlin_[a-z_]+)(?:\{([^}]*)\})?/g).filter(
    ({ match }) => !/^dunlin_(api|worker|events)$/.test(match[1]!),
  );
  assert.ok(found.length > 20, `${found.length}`);
  for (const { file, match } of found) {
    const [, name, braces] = match;
    assert.ok(isKnown(name!), `${file}: ${name}`);
    for (const [, label] of (braces ?? "").matchAll(/([a-z_]+)(?:[=!]|,|$)/g))
      assert.ok(labelsOf(name!).includes(label!), `${file}: ${name} has no label ${label}`);
  }
});

const blocks = (language: string): (CodeFence & { file: string })[] =>
  documents.flatMap(({ file, text }) =>
    findCodeFences(text)
      .filter((each) => each.language === language)
      .map((each) => ({ ...each, file })),
  );

test("the Prometheus rules form a rule file, and group by existing labels", () => {
  const stored = storedMetrics();
  const { text } = blocks("yaml")[0]!;
  const line = [
    /^groups:$/,
    /^ {2}- name: dunlin$/,
    /^ {4}rules:$/,
    /^ {6}- alert: Dunlin[A-Z]\w+$/,
    /^ {8}expr: [^#]+$/,
    /^ {8}for: \d+[smhd]$/,
    /^ {8}labels: \{ severity: (page|ticket) \}$/,
    /^ {8}annotations:$/,
    /^ {10}summary: "[^"]+"$/,
  ];
  for (const each of text.trimEnd().split("\n"))
    assert.ok(
      line.some((shape) => shape.test(each)),
      each,
    );
  const rules = text.split("- alert: ").slice(1);
  assert.ok(rules.length >= 8);
  for (const rule of rules) {
    for (const part of ["expr: ", "severity: ", "annotations:", "summary: "]) assert.ok(rule.includes(part), rule);
    const expression = /expr: (.*)/.exec(rule)![1]!;
    assert.equal(expression.split("(").length, expression.split(")").length, expression);
    // Prometheus adds the source to each line.
    const labels = ["job", "instance"].concat(
      [...expression.matchAll(/[a-z]\w*(?=[{[ )]|$)/g)].flatMap(([name]) => stored.get(name) ?? []),
    );
    for (const [, by] of expression.matchAll(/ by \(([^)]*)\)/g))
      assert.ok(labels.includes(by!), `${expression}: ${by}`);
    for (const [, shown] of rule.matchAll(/\$labels\.(\w+)/g)) assert.ok(labels.includes(shown!), rule);
  }
  // A new installation has not received any push yet.
  const once = /\(increase\((\w+)\[6h\]\)\) == 0 and sum\(max_over_time\(\1\[15d\]\)\) > 0$/m;
  assert.match(rules.find((rule) => rule.startsWith("DunlinNothingIsPushed"))!, once);
});

test("the systemd unit starts an existing program with correct settings", () => {
  const [environment, unit] = blocks("ini").map(({ text }) => text) as [string, string];
  const pairs = environment
    .trim()
    .split("\n")
    .map((each) => /^(\w+)=(.*)$/.exec(each)!.slice(1) as [string, string]);
  const key = randomBytes(32).toString("base64");
  const written = { ...Object.fromEntries(pairs), DUNLIN_SECRET_KEY: key };
  assert.deepEqual(readSettings(written, () => null, new Date()).problems, []);
  for (const each of unit.trim().split("\n")) assert.match(each, /^(|\[(Unit|Service|Install)\]|[A-Z][A-Za-z]+=\S.*)$/);
  const folder = /WorkingDirectory=(.*)/.exec(unit)![1]!;
  const [node, program, command] = /ExecStart=(.*)/.exec(unit)![1]!.split(" ") as [string, string, string];
  assert.ok(readFileSync(join(ROOT, node.replace(`${folder}/`, "")))[0] !== undefined && read(program).length > 0);
  assert.ok(COMMAND_NAMES.includes(command));
  assert.ok(environment.includes(`DUNLIN_DATA=${/ReadWritePaths=(.*)/.exec(unit)![1]}`));
});

test("the documented SQL for operators runs, and names the roles that the service uses", async () => {
  const statements = blocks("sql")
    .flatMap(({ text }) => text.split(/;\n/))
    .filter((each) => each.trim() !== "");
  assert.ok(statements.length >= 4);
  for (const statement of statements) {
    const roles = [...statement.matchAll(/dunlin_\w+/g)].map(([role]) => role);
    assert.ok(
      roles.every((role) => (DATABASE_ROLES as readonly string[]).includes(role)),
      statement,
    );
    // Roles belong to the whole server, which already has them, so those statements are parsed but not run.
    if (roles.length > 0) assert.match(statement, /^(create role \w+ nologin|grant \w+, \w+ to "the login")$/);
    else await database.db.run(prepared("", statement), []);
  }
});

test("the example rule file is accepted, and a wrong one is refused with the documented message", () => {
  const text = blocks("json").find(({ file }) => file === "docs/reference/rules.md")!.text;
  assert.deepEqual(parseRules(text).problems, []);
  const [problem] = parseRules(text.replace('"attemptsMax": 15', '"attemptsMax": 0')).problems;
  assert.ok(read("docs/reference/rules.md").includes(`DUNLIN_RULES (environment)  rules.json: ${problem}.\n`));
  for (const { text: json } of blocks("json")) JSON.parse(json);
});

test("a test reads every kind of block in a document", () => {
  const kinds = new Set(documents.flatMap(({ text }) => findCodeFences(text).map(({ language }) => language)));
  assert.deepEqual([...kinds].sort(), ["", "ini", "json", "sh", "sql", "text", "ts", "yaml"]);
});
