import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { readSettings } from "./config.ts";

const NOW = new Date("2026-11-20T12:00:00Z");
const read = (environment: Record<string, string>) => readSettings(environment, () => null, NOW);

test("the service listens on localhost:8443 over TLS with an embedded database in ./data by default", () => {
  const { settings, problems } = read({ PATH: "/bin" });
  assert.deepEqual(problems, []);
  assert.equal(settings.databaseUrl, null);
  assert.deepEqual([settings.host, settings.port, settings.baseUrl], ["localhost", 8443, "https://localhost:8443"]);
  assert.ok(settings.dataDir.endsWith("/data"));
  assert.equal(settings.clockRate, null);
});

test("the base URL follows the port, and the console's URL follows the base URL", () => {
  assert.equal(read({ DUNLIN_PORT: "9443" }).settings.baseUrl, "https://localhost:9443");
  assert.equal(read({ DUNLIN_BASE_URL: "https://pay.example/" }).settings.authUrl, "https://pay.example");
});

test("a setting with a typing error, or a word too many or too few, gets a suggestion", () => {
  for (const [typed, meant] of [
    ["DUNLIN_PROT", "DUNLIN_PORT"],
    ["DUNLIN_METRICS", "DUNLIN_METRICS_PORT"],
    ["DUNLIN_DATA_DIR", "DUNLIN_DATA"],
    ["DUNLIN_DATABASE_URL", "DATABASE_URL"],
    ["DUNLIN_COLOUR", null],
  ] as const) {
    const { problem } = read({ [typed]: "1" }).problems[0]!;
    const hint = meant === null ? "" : ` Did you mean ${meant}?`;
    assert.equal(problem, `is not a setting.${hint} docs/reference/settings.md lists them.`);
  }
});

test("all problems are reported at once by name, without values that may be secret", () => {
  const { problems } = read({
    DUNLIN_PORT: "99999",
    DUNLIN_TLS: "maybe",
    DATABASE_URL: "mysql://root:hunter2@db/x",
    DUNLIN_SECRET_KEY: "hunter2",
    DUNLIN_PROT: "1",
  });
  assert.deepEqual(problems.map(({ name }) => name).sort(), [
    "DATABASE_URL",
    "DUNLIN_PORT",
    "DUNLIN_PROT",
    "DUNLIN_SECRET_KEY",
    "DUNLIN_TLS",
  ]);
  assert.ok(!JSON.stringify(problems).includes("hunter2"));
});

test("page token keys default to one derived from the secret key, and can be listed newest first", () => {
  assert.deepEqual(read({}).settings.pageTokenKeys, ["default"]);
  const key = Buffer.alloc(32, 9);
  const given = { DUNLIN_PAGE_TOKEN_KEYS: `${key.toString("base64")}, default` };
  assert.deepEqual(read(given).settings.pageTokenKeys, [key, "default"]);
  for (const wrong of ["hunter2", `${key.toString("base64")},`]) {
    const { problems } = read({ DUNLIN_PAGE_TOKEN_KEYS: wrong });
    assert.deepEqual(
      problems.map(({ name, problem }) => [name, problem.includes(wrong)]),
      [["DUNLIN_PAGE_TOKEN_KEYS", false]],
    );
  }
});

test("DUNLIN_DATABASE_CONNECTIONS sets the size of the database pools", () => {
  assert.equal(read({}).settings.databaseConnections, 10);
  assert.equal(read({ DUNLIN_DATABASE_CONNECTIONS: "4" }).settings.databaseConnections, 4);
  for (const wrong of ["3", "101", "ten"]) {
    const { problems } = read({ DUNLIN_DATABASE_CONNECTIONS: wrong });
    assert.deepEqual(
      problems.map(({ name }) => name),
      ["DUNLIN_DATABASE_CONNECTIONS"],
    );
  }
});

test("a fast clock on an external database must be confirmed", () => {
  const fast = { DATABASE_URL: "postgres://db/dunlin", DUNLIN_CLOCK_RATE: "60" };
  assert.deepEqual(
    read(fast).problems.map(({ name }) => name),
    ["DUNLIN_CLOCK_RATE"],
  );
  assert.deepEqual(read({ ...fast, DUNLIN_CLOCK_RATE_CONFIRM: "yes" }).problems, []);
  assert.deepEqual(read({ DUNLIN_CLOCK_RATE: "60" }).problems, []);
});

test("DATABASE_URL can name a socket folder", () => {
  const url = "postgres://dunlin@/dunlin?host=/run/postgresql";
  assert.equal(read({ DATABASE_URL: url }).settings.databaseUrl, url);
});

test("a certificate without its key, or a file that is not one, is refused", () => {
  const { problems } = read({ DUNLIN_TLS_CERT: import.meta.filename });
  assert.deepEqual(
    problems.map(({ name }) => name),
    ["DUNLIN_TLS_CERT", "DUNLIN_TLS_KEY"],
  );
});

test("a problem in the allow list is reported with the name of its setting", () => {
  const { problems } = readSettings({ DUNLIN_WEBHOOK_ALLOW: "10.0.0.0" }, () => '"10.0.0.0" is not CIDR:port.', NOW);
  assert.deepEqual(problems, [{ name: "DUNLIN_WEBHOOK_ALLOW", problem: '"10.0.0.0" is not CIDR:port.' }]);
});

test("DUNLIN_RULES is read, and problems name their place in the file", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "dunlin-rules-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "rules.json");
  writeFileSync(
    path,
    '{"document": "a letter", "date": "May", "networks": {"visa": {"limits": [{"attemptsMax": 0}]}}}',
  );
  const [wrong] = read({ DUNLIN_RULES: path }).problems;
  assert.equal(wrong!.name, "DUNLIN_RULES");
  assert.match(wrong!.problem, /rules\.json: networks\.visa\.limits\[0\]\.attemptsMax must be a whole number/);
  writeFileSync(path, '{"document": "a letter", "date": "May", "networks": {"visa": {"barsCategory1": false}}}');
  const { settings, problems } = read({ DUNLIN_RULES: path });
  assert.deepEqual(problems, []);
  assert.equal(settings.rules!.networks[0]![1].barsCategory1, false);
  const [missing] = read({ DUNLIN_RULES: join(folder, "none") }).problems;
  assert.match(missing!.problem, /does not exist\. Write the path of a file of rules/);
});

test("an identity provider needs all three settings, and its issuer keeps a final slash", () => {
  assert.equal(read({}).settings.oidc, null);
  const given = { DUNLIN_OIDC_CLIENT_ID: "dunlin", DUNLIN_OIDC_CLIENT_SECRET: "s3cret" };
  const { settings, problems } = read({ ...given, DUNLIN_OIDC_ISSUER: "https://id.example.com/realms/x/" });
  assert.deepEqual(problems, []);
  assert.deepEqual(settings.oidc, {
    issuer: "https://id.example.com/realms/x/",
    clientId: "dunlin",
    clientSecret: "s3cret",
    name: "id.example.com",
  });
  assert.deepEqual(
    read(given).problems.map(({ name }) => name),
    ["DUNLIN_OIDC_ISSUER"],
  );
  const inTheClear = read({ ...given, DUNLIN_OIDC_ISSUER: "http://id.example.com" });
  assert.match(inTheClear.problems[0]!.problem, /begins with https/);
  assert.equal(inTheClear.settings.oidc, null);
});

test("mail needs a server and a sender address", () => {
  assert.equal(read({}).settings.mail, null);
  const given = { DUNLIN_SMTP_URL: "smtps://u:p@mail.example.com:465", DUNLIN_MAIL_FROM: "dunlin@example.com" };
  assert.deepEqual(read(given).problems, []);
  assert.deepEqual(read(given).settings.mail, { url: given.DUNLIN_SMTP_URL, from: given.DUNLIN_MAIL_FROM });
  assert.equal(read({ DUNLIN_MAIL_FROM: "dunlin@example.com" }).problems[0]!.name, "DUNLIN_SMTP_URL");
  assert.equal(read({ DUNLIN_SMTP_URL: given.DUNLIN_SMTP_URL }).problems[0]!.name, "DUNLIN_MAIL_FROM");
  for (const url of ["smtp://", "smtp://u:100%@mail.example.com"])
    assert.match(
      read({ ...given, DUNLIN_SMTP_URL: url }).problems[0]!.problem,
      /has no host, or its password has a character/,
    );
  const [wrong] = read({ ...given, DUNLIN_SMTP_URL: "https://u:hidden@mail.example.com" }).problems;
  assert.match(wrong!.problem, /begins with smtp:\/\/ or smtps:\/\//);
  assert.ok(!wrong!.problem.includes("hidden"));
});

test("records are kept forever by default, and a too short retention is refused", () => {
  assert.deepEqual(read({}).settings.keepDays, { invoices: null, subscriptions: null, audit: null });
  const names = ["INVOICES", "SUBSCRIPTIONS", "AUDIT"].map((kind) => `DUNLIN_KEEP_${kind}_DAYS`);
  const given = (days: readonly number[]) => Object.fromEntries(names.map((name, n) => [name, `${days[n]}`]));
  const least = { invoices: 450, subscriptions: 450, audit: 365 };
  assert.deepEqual(read(given(Object.values(least))).settings.keepDays, least);
  const { problems } = read(given([449, 449, 364]));
  assert.deepEqual(
    problems.map(({ name }) => name),
    names,
  );
  assert.match(
    problems[0]!.problem,
    /"449" is not a number of days\. Write one from 450 to 36500, or unset it to keep all/,
  );
});

test("a secret key that can be guessed is refused, and a random one is accepted", () => {
  const problems = (key: Buffer) => read({ DUNLIN_SECRET_KEY: key.toString("base64") }).problems;
  assert.match(problems(Buffer.from("0123456789abcdef0123456789abcdef"))[0]!.problem, /is text in base64/);
  assert.match(problems(Buffer.alloc(32, 7))[0]!.problem, /repeats a few bytes.*openssl rand -base64 32/);
  assert.deepEqual(problems(randomBytes(32)), []);
  const [first, second] = [randomBytes(32), randomBytes(32)];
  const both = (key: Buffer) => read({ DUNLIN_SECRET_KEY: `${first.toString("base64")}, ${key.toString("base64")}` });
  assert.deepEqual(both(second).settings.secretKeys, [first, second]);
  assert.match(both(Buffer.alloc(32, 7)).problems[0]!.problem, /repeats a few bytes/);
});

test("metrics listen on localhost and the log level is info by default", () => {
  const { settings } = read({ DUNLIN_HOST: "0.0.0.0", DUNLIN_METRICS_PORT: "9090" });
  assert.deepEqual([settings.metricsHost, settings.metricsPort, settings.logLevel], ["localhost", 9090, "info"]);
  const other = read({ DUNLIN_METRICS_HOST: "10.0.0.7", DUNLIN_LOG_LEVEL: "debug" }).settings;
  assert.deepEqual([other.metricsHost, other.logLevel], ["10.0.0.7", "debug"]);
  assert.match(
    read({ DUNLIN_LOG_LEVEL: "loud" }).problems[0]!.problem,
    /"loud" is not one of debug, info, warn, error/,
  );
});
