import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { CommandContext } from "./command.ts";
import { simulate } from "./simulate.ts";

const folder = mkdtempSync(join(tmpdir(), "dunlin-simulate-"));
after(() => rmSync(folder, { recursive: true, force: true }));

/** A world of one bill, as anybody would write it. */
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

/** The same where a try is approved, and said to the oracle to be likely, as these say of `at`, and of `day`: the days since it failed. */
function answeringFile(name: string, approved: string, told: string) {
  const path = worldFile(name, false);
  const answer = (told: string) => `{ const day = (at - bill.createdAt) / 86400000; return ${told}; }`;
  const answers = `charge: (_bill, at) => ${answer(`charge(at, ${approved})`)}, approval: (_bill, at) => ${answer(`+(${told})`)} `;
  writeFileSync(
    path,
    readFileSync(path, "utf8").replace("charge: (_bill, at) => charge(at, true), approval: () => 1 ", answers),
  );
  return path;
}

async function run(world: string, values: Record<string, string | boolean> = {}, beside: string[] = []) {
  const lines: string[] = [];
  const aside = { print: (line: string) => void beside.push(line), isTerminal: true };
  const context = { print: (line: string) => void lines.push(line), aside } as CommandContext;
  await simulate.run(context, { world, customers: "1", policies: "even,warm", ...values }, []);
  return lines.join("\n");
}

test("a module of one's own is a world, and the policies are compared in it", async () => {
  const { cases, policies } = JSON.parse(await run(worldFile("one.mjs", false), { json: true }));
  assert.equal(cases, 1);
  assert.equal(policies.warm.recovered, 1);
});

test("as JSON a comparison has the fields that are documented, of each policy that is compared unless others are asked for", async () => {
  const lines: string[] = [];
  const context = { print: (line: string) => void lines.push(line), aside: { print() {}, isTerminal: false } };
  const world = worldFile("all.mjs", false);
  await simulate.run(context as unknown as CommandContext, { world, customers: "1", seed: "7", json: true }, []);
  const { policies, gapClosed, ...rest } = JSON.parse(lines.join("\n"));
  assert.deepEqual(rest, { world: "one bill", seed: 7, customers: 1, cases: 1 });
  assert.deepEqual(Object.keys(policies), ["fixed", "ladder", "even", "expert", "hours", "cold", "warm", "oracle"]);
  const asked = ["recovered", "value", "attempts", "brokenRules", "ece"];
  const beside = ["attemptsPerRecovery", "recoveredCases", "eceByGroup", "eceIfTrue"];
  for (const [name, figures] of Object.entries(policies))
    assert.deepEqual(Object.keys(figures as object).sort(), [...asked, ...beside].sort(), name);
  assert.deepEqual(Object.keys(gapClosed), ["fromFixed", "fromEven"]);
});

test("which policy is at work is said beside the output, which is JSON alone", async () => {
  const beside: string[] = [];
  JSON.parse(await run(worldFile("beside.mjs", false), { json: true }, beside));
  assert.deepEqual(beside, ["fixed, 1 of 4 …", "even, 2 of 4 …", "warm, 3 of 4 …", "oracle, 4 of 4 …"]);
});

test("where a static policy comes to more than Dunlin, it is said by how much", async () => {
  // Approved at whole days after the failure, to the minute.
  const whole = "day > 0 && day % 1 === 0";
  const path = answeringFile("behind.mjs", whole, whole);
  writeFileSync(path, readFileSync(path, "utf8").replaceAll("T10:00:00Z", "T10:20:00Z"));
  assert.match(await run(path), /^Dunlin, warm, is \d+\.\d% of the money behind six even tries\.$/m);
});

test("a world that does not exist is answered with those that do", async () => {
  await assert.rejects(
    run("nope"),
    /There is no world "nope": it is one of balances, hard, .*, or the path of a module\./,
  );
  const missing = join(folder, "none.ts");
  await assert.rejects(run(missing), { message: `There is no module ${missing}.` });
  for (const none of ["", folder]) await assert.rejects(run(none), /There is no world "/);
  await assert.rejects(run("crude:nope"), /crude:LAW with a LAW of flat, night, .*hard, or the path of a module/);
});

test("a world of TypeScript that Node alone can't load is one like another, with the place of what it throws", async () => {
  const own = join(folder, "typed");
  mkdirSync(own);
  writeFileSync(join(own, "package.json"), '{ "type": "commonjs" }');
  writeFileSync(join(own, "types.ts"), "export interface Named { readonly name: string }\n");
  writeFileSync(join(own, "means.ts"), 'export enum Means { Card = "card" }\n');
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
  const path = join(own, "world.ts");
  writeFileSync(path, of("charge(at, true)"));
  assert.match(await run(path), /^World "one bill", seed 1: 1 customers, 1 failed payments\.$/m);
  const faulty = join(own, "faulty.ts");
  writeFileSync(faulty, of("nothing.at"));
  await assert.rejects(run(faulty), /charge\(\) of bill b1 .* threw ReferenceError: .*, at .*faulty\.ts:7:\d+\)?\.$/);
});

test("a world that is no program is answered with the file, the line and what is wrong there", async () => {
  const path = join(folder, "broken.ts");
  writeFileSync(path, "export const world = () => {\n  const a = 1;\n  a a\n};\n");
  await assert.rejects(run(path), (error: Error) => {
    assert.match(error.message, /^The world could not be opened: .*broken\.ts:3\n/);
    assert.doesNotMatch(error.message, /node:internal/);
    return true;
  });
});

test("a module that fails when it is loaded, or asked for its world, is answered with the place", async () => {
  const path = join(folder, "fails when loaded.ts");
  writeFileSync(path, "const a = undefined;\nexport const b = a.c;\n");
  await assert.rejects(run(path), /could not be opened: .*reading 'c'\), at .*loaded\.ts:2:20$/);
  const later = join(folder, "fails-later.mjs");
  writeFileSync(later, "export const world = () => {\n  throw 'no luck';\n};\n");
  await assert.rejects(run(later), /could not be opened: no luck$/);
});

test("options that a world of ours does not have, and such as are no object, are refused", async () => {
  const refused: [world: string, options: string, why: RegExp][] = [
    ["balances", `{"goen":0.9}`, /no option is named goen: there are poor, gone, masked, holds$/],
    ["hard", `{"gone":"much"}`, /option gone takes a number$/],
    ["issuers", `{"poor":0.2}`, /no option is named poor: there are suspicion, memory$/],
    ["crude:night", `{"hour":2}`, /no option is named hour: there are law, codes$/],
    ["balances", `{"gone":5}`, /option gone is a share, from 0 to 1, not 5$/],
    ["issuers", `{"memory":-1}`, /option memory takes a number from 0 on, not -1$/],
    ["balances", "[0.6]", /--options takes JSON such as \{"gone":0\.6\}, not "\[0\.6\]"/],
    ["balances", "null", /--options takes JSON/],
  ];
  for (const [world, options, why] of refused) await assert.rejects(run(world, { options }), why);
});

test("what the rows and columns are is said below them, and of few failed payments how little the gap says", async () => {
  const said = await run(worldFile("said.mjs", false), { policies: "fixed" });
  for (const word of ["warm", "cold", "even", "fixed", "oracle", "value", "per recovery", "calibration error"])
    assert.match(said, new RegExp(`^ {2}.*\\b${word}\\b`, "m"), word);
  assert.match(said, /^even +/m, "what the gap is made of comes along");
  assert.match(simulate.usage, /fixed, even, warm, oracle come along/);
  assert.match(
    await run("crude:flat", { customers: "100" }),
    /closes .*\.\nWith fewer than 5000 failed payments one seed differs/,
  );
});

test("a world in which nothing fails is told apart from one in which nothing was recovered", async () => {
  await assert.rejects(run(worldFile("none.mjs", true)), /No first charge was declined in this world/);
});

test("a world that does not keep to its interface is told where", async () => {
  const path = worldFile("odd.mjs", false);
  writeFileSync(path, readFileSync(path, "utf8").replace("amount: 2900", "amount: 29.5"));
  await assert.rejects(
    run(path),
    /does not keep to its interface: bill b1: amount must be a whole number .* not 29.5\./,
  );
});

test("where not even the oracle recovers anything nobody is said to close a gap", async () => {
  assert.match(await run(answeringFile("nothing.mjs", "false", "false")), /^Not even the oracle recovered anything/m);
});

test("a report draws what was recovered, the tries, the regret and the calibration of each policy, and stands alone", async () => {
  const path = join(folder, "report.html");
  const said = await run("crude:night", { customers: "150", report: path, policies: "cold,hours" });
  assert.match(said, /\nReport: .*report\.html$/);
  const html = readFileSync(path, "utf8");
  for (const name of ["fixed", "even", "hours", "cold", "warm", "oracle"])
    assert.match(html, new RegExp(`<td[^>]*>${name}</td><td[^>]*>\\d+\\.\\d%`), name);
  assert.deepEqual(
    [...html.matchAll(/<h2>(.*?)<\/h2>\s*<figure>/g)].map(([, heading]) => heading),
    ["Recovered money", "Tries", "Regret", "Calibration"],
  );
  const lines = [...html.matchAll(/<polyline class="course \w+" points="([^"]+)"\/><text[^>]*>(\w+)/g)];
  assert.deepEqual(lines.map(([, , name]) => name).sort(), ["cold", "even", "fixed", "hours", "warm"]);
  for (const [, points] of lines) assert.doesNotMatch(points!, /NaN/);
  assert.match(html, /<circle class="dot first"/);
  assert.doesNotMatch(html, /<script|<link|https?:/);
});

test("a report that can't be written is told before the year is run", async () => {
  const beside: string[] = [];
  const report = join(folder, "none", "report.html");
  await assert.rejects(run(worldFile("r.mjs", false), { report }, beside), /can't be written to .*the folder is not/);
  assert.deepEqual(beside, []);
});

test("where the oracle is no better than even tries there is said to be no gap", async () => {
  const misled = answeringFile("misled.mjs", "day > 2", "day > 20");
  assert.match(await run(misled, { policies: "even" }), /so there is no gap to close\.$/m);
  const { gapClosed } = JSON.parse(await run(misled, { policies: "even", json: true }));
  assert.equal(gapClosed.fromEven, null);
});

test("in a window of a day the oracle looks at each slot, for its tries may all fall into that day", async () => {
  const path = answeringFile("day.mjs", "day > 0.9", "day > 0.7 ? 0.5 : 0.4");
  writeFileSync(path, readFileSync(path, "utf8").replace("windowDays: 28", "windowDays: 1"));
  const { policies } = JSON.parse(await run(path, { policies: "even", json: true }));
  assert.ok(policies.oracle.attempts > 1, `${policies.oracle.attempts}`);
});
