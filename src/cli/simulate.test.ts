import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { CommandContext } from "./command.ts";
import { simulate } from "./simulate.ts";

const folder = mkdtempSync(join(tmpdir(), "dunlin-simulate-"));
after(() => rmSync(folder, { recursive: true, force: true }));

/** A minimal world with one invoice. */
function worldFile(name: string, approved: boolean) {
  const path = join(folder, name);
  const charge = `{ at, approved, paymentMethodType: "card", networkDeclineCode: approved ? undefined : "51" }`;
  writeFileSync(
    path,
    `const charge = (at, approved) => (${charge});
     const bill = { id: "b1", customerId: "c1", subscriptionId: "s1", merchantKey: "m", amount: 2900, currency: "USD", planId: "p",
       billingPeriod: 1, billingPeriodUnit: "MONTH", subscriptionCreatedAt: new Date("2025-01-01"), createdAt: new Date("2025-03-01T10:00:00Z"),
       windowDays: 28, first: charge(new Date("2025-03-01T10:00:00Z"), ${approved}) };
     export const world = () => ({ name: "one bill", bills: () => [bill], charge: (_bill, at) => charge(at, true), approval: () => 1 });`,
  );
  return path;
}

/**
 * The same world, where an attempt is approved if `approved` holds, and the oracle hears the probability `probability`.
 * Both are code that can use `at`, and `day`: the days since the failure.
 */
function answeringFile(name: string, approved: string, probability: string) {
  const path = worldFile(name, false);
  const answer = (result: string) => `{ const day = (at - bill.createdAt) / 86400000; return ${result}; }`;
  const answers = `charge: (_bill, at) => ${answer(`charge(at, ${approved})`)}, approval: (_bill, at) => ${answer(`+(${probability})`)} `;
  writeFileSync(
    path,
    readFileSync(path, "utf8").replace("charge: (_bill, at) => charge(at, true), approval: () => 1 ", answers),
  );
  return path;
}

async function run(world: string, values: Record<string, string | boolean> = {}, messages: string[] = []) {
  const lines: string[] = [];
  const stderr = { print: (line: string) => void messages.push(line), isTerminal: true };
  const context = { print: (line: string) => void lines.push(line), stderr } as CommandContext;
  await simulate.run(context, { world, customers: "1", policies: "even,warm", ...values }, []);
  return lines.join("\n");
}

test("a custom module is a world in which policies are compared", async () => {
  const { cases, policies } = JSON.parse(await run(worldFile("one.mjs", false), { json: true }));
  assert.equal(cases, 1);
  assert.equal(policies.warm.recovered, 1);
});

test("the JSON result has the documented fields for each policy", async () => {
  const lines: string[] = [];
  const context = { print: (line: string) => void lines.push(line), stderr: { print() {}, isTerminal: false } };
  const world = worldFile("all.mjs", false);
  await simulate.run(context as unknown as CommandContext, { world, customers: "1", seed: "7", json: true }, []);
  const { policies, gapClosed, ...rest } = JSON.parse(lines.join("\n"));
  assert.deepEqual(rest, { world: "one bill", seed: 7, customers: 1, cases: 1 });
  assert.deepEqual(Object.keys(policies), ["fixed", "ladder", "even", "expert", "hours", "cold", "warm", "oracle"]);
  const main = ["recovered", "value", "attempts", "brokenRules", "ece"];
  const details = ["attemptsPerRecovery", "recoveredCases", "eceByGroup", "eceIfTrue"];
  for (const [name, figures] of Object.entries(policies))
    assert.deepEqual(Object.keys(figures as object).sort(), [...main, ...details].sort(), name);
  assert.deepEqual(Object.keys(gapClosed), ["fromFixed", "fromEven"]);
});

test("progress goes to standard error, so that JSON output stays clean", async () => {
  const messages: string[] = [];
  JSON.parse(await run(worldFile("messages.mjs", false), { json: true }, messages));
  assert.deepEqual(messages, ["fixed, 1 of 4 …", "even, 2 of 4 …", "warm, 3 of 4 …", "oracle, 4 of 4 …"]);
});

test("the result says by how much a static policy beats Dunlin", async () => {
  // Approved at whole days after the failure, to the minute.
  const whole = "day > 0 && day % 1 === 0";
  const path = answeringFile("behind.mjs", whole, whole);
  writeFileSync(path, readFileSync(path, "utf8").replaceAll("T10:00:00Z", "T10:20:00Z"));
  assert.match(await run(path), /^Dunlin, warm, is \d+\.\d% of the money behind six evenly spaced retries\.$/m);
});

test("an unknown world is refused with the available ones", async () => {
  await assert.rejects(run("nope"), /There is no world "nope"\. Use balances, hard, .*, or the path of a module\./);
  const missing = join(folder, "none.ts");
  await assert.rejects(run(missing), { message: `There is no module ${missing}.` });
  for (const none of ["", folder]) await assert.rejects(run(none), /There is no world "/);
  await assert.rejects(
    run("crude:nope"),
    /crude:LAW with one of the laws flat, night, .*hard, or the path of a module/,
  );
});

test("a TypeScript world that Node cannot load alone works, and errors name their place in it", async () => {
  const moduleFolder = join(folder, "typed");
  mkdirSync(moduleFolder);
  writeFileSync(join(moduleFolder, "package.json"), '{ "type": "commonjs" }');
  writeFileSync(join(moduleFolder, "types.ts"), "export interface Named { readonly name: string }\n");
  writeFileSync(join(moduleFolder, "means.ts"), 'export enum Means { Card = "card" }\n');
  const js = readFileSync(worldFile("untyped.mjs", false), "utf8").replace('"card"', "Means.Card");
  const of = (charge: string) =>
    `import { Named } from "./types";\nimport { Means } from "./means.ts";\n${js
      .replace("{ name: ", "Object.assign(new One(")
      .replace(`"one bill",`, `"one bill"), {`)
      .replace(/ \}\);$/, " }));")
      .replace(
        "charge(at, true)",
        charge,
      )}\nclass One implements Named {\n  constructor(readonly name: string) {}\n}\n`;
  const path = join(moduleFolder, "world.ts");
  writeFileSync(path, of("charge(at, true)"));
  assert.match(await run(path), /^World "one bill", seed 1: 1 customers, 1 failed payments\.$/m);
  const faulty = join(moduleFolder, "faulty.ts");
  writeFileSync(faulty, of("nothing.at"));
  await assert.rejects(run(faulty), /charge\(\) of bill b1 .* threw ReferenceError: .*, at .*faulty\.ts:7:\d+\)?\.$/);
});

test("a world with a syntax error is refused with file, line and error", async () => {
  const path = join(folder, "broken.ts");
  writeFileSync(path, "export const world = () => {\n  const a = 1;\n  a a\n};\n");
  await assert.rejects(run(path), (error: Error) => {
    assert.match(error.message, /^The world could not be opened: .*broken\.ts:3\n/);
    assert.doesNotMatch(error.message, /node:internal/);
    return true;
  });
});

test("a module that fails when loaded or called is refused with the place", async () => {
  const path = join(folder, "fails when loaded.ts");
  writeFileSync(path, "const a = undefined;\nexport const b = a.c;\n");
  await assert.rejects(run(path), /could not be opened: .*reading 'c'\), at .*loaded\.ts:2:20$/);
  const later = join(folder, "fails-later.mjs");
  writeFileSync(later, "export const world = () => {\n  throw 'no luck';\n};\n");
  await assert.rejects(run(later), /could not be opened: no luck$/);
});

test("unknown options, or ones that are not an object, are refused", async () => {
  const refused: [world: string, options: string, why: RegExp][] = [
    ["balances", `{"goen":0.9}`, /no option is named goen; the options are poor, gone, masked, holds$/],
    ["hard", `{"gone":"much"}`, /option gone takes a number$/],
    ["issuers", `{"poor":0.2}`, /no option is named poor; the options are suspicion, memory$/],
    ["crude:night", `{"hour":2}`, /no option is named hour; the options are law, codes$/],
    ["balances", `{"gone":5}`, /option gone is a share, from 0 to 1, not 5$/],
    ["issuers", `{"memory":-1}`, /option memory takes a number of at least 0, not -1$/],
    ["balances", "[0.6]", /--options takes JSON such as \{"gone":0\.6\}, not "\[0\.6\]"/],
    ["balances", "null", /--options takes JSON/],
  ];
  for (const [world, options, why] of refused) await assert.rejects(run(world, { options }), why);
});

test("a legend explains rows and columns, and few failed payments come with a warning", async () => {
  const output = await run(worldFile("legend.mjs", false), { policies: "fixed" });
  for (const word of ["warm", "cold", "even", "fixed", "oracle", "value", "per recovery", "calibration error"])
    assert.match(output, new RegExp(`^ {2}.*\\b${word}\\b`, "m"), word);
  assert.match(output, /^even +/m, "policies that the gap needs are included");
  assert.match(simulate.usage, /fixed, even, warm, oracle are always included/);
  assert.match(
    await run("crude:flat", { customers: "100" }),
    /closes .*\.\nWith fewer than 5000 failed payments, seeds differ/,
  );
});

test("a world in which no charge fails is refused", async () => {
  await assert.rejects(run(worldFile("none.mjs", true)), /No first charge was declined in this world/);
});

test("a world that violates its interface is refused with the place", async () => {
  const path = worldFile("odd.mjs", false);
  writeFileSync(path, readFileSync(path, "utf8").replace("amount: 2900", "amount: 29.5"));
  await assert.rejects(run(path), /violates its interface: bill b1: amount must be a whole number .* not 29.5\./);
});

test("no gap is reported when not even the oracle recovers anything", async () => {
  assert.match(await run(answeringFile("nothing.mjs", "false", "false")), /^Not even the oracle recovered anything/m);
});

test("a report has charts of recovered money, attempts, regret and calibration, and is self-contained", async () => {
  const path = join(folder, "report.html");
  const output = await run("crude:night", { customers: "150", report: path, policies: "cold,hours" });
  assert.match(output, /\nReport: .*report\.html$/);
  const html = readFileSync(path, "utf8");
  for (const name of ["fixed", "even", "hours", "cold", "warm", "oracle"])
    assert.match(html, new RegExp(`<td[^>]*>${name}</td><td[^>]*>\\d+\\.\\d%`), name);
  assert.deepEqual(
    [...html.matchAll(/<h2>(.*?)<\/h2>\s*<figure>/g)].map(([, heading]) => heading),
    ["Recovered money", "Retries", "Regret", "Calibration"],
  );
  const lines = [...html.matchAll(/<polyline class="course \w+" points="([^"]+)"\/><text[^>]*>(\w+)/g)];
  assert.deepEqual(lines.map(([, , name]) => name).sort(), ["cold", "even", "fixed", "hours", "warm"]);
  for (const [, points] of lines) assert.doesNotMatch(points!, /NaN/);
  assert.match(html, /<circle class="dot first"/);
  assert.doesNotMatch(html, /<script|<link|https?:/);
});

test("an unwritable report path is refused before the simulation runs", async () => {
  const messages: string[] = [];
  const report = join(folder, "none", "report.html");
  await assert.rejects(
    run(worldFile("r.mjs", false), { report }, messages),
    /Cannot write the report to .*the folder does not exist/,
  );
  assert.deepEqual(messages, []);
});

test("no gap is reported when the oracle is no better than evenly spaced retries", async () => {
  const misled = answeringFile("misled.mjs", "day > 2", "day > 20");
  assert.match(await run(misled, { policies: "even" }), /so there is no gap to close\.$/m);
  const { gapClosed } = JSON.parse(await run(misled, { policies: "even", json: true }));
  assert.equal(gapClosed.fromEven, null);
});

test("the oracle considers every slot when the window is one day", async () => {
  const path = answeringFile("day.mjs", "day > 0.9", "day > 0.7 ? 0.5 : 0.4");
  writeFileSync(path, readFileSync(path, "utf8").replace("windowDays: 28", "windowDays: 1"));
  const { policies } = JSON.parse(await run(path, { policies: "even", json: true }));
  assert.ok(policies.oracle.attempts > 1, `${policies.oracle.attempts}`);
});
