import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { Context } from "./command.ts";
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

/** The same where no try succeeds, and the oracle is told that each does with that chance. */
function hopelessFile(name: string, told: number) {
  const path = worldFile(name, false);
  const [before, after] = ["charge(at, true), approval: () => 1 ", `charge(at, false), approval: () => ${told} `];
  writeFileSync(path, readFileSync(path, "utf8").replace(before, after));
  return path;
}

async function run(world: string, values: Record<string, string | boolean> = {}, beside: string[] = []) {
  const lines: string[] = [];
  const aside = { print: (line: string) => void beside.push(line), isTerminal: true };
  const context = { print: (line: string) => void lines.push(line), aside } as Context;
  await simulate.run(context, { world, customers: "1", policies: "even,warm", ...values }, []);
  return lines.join("\n");
}

test("a module of one's own is a world, and the policies are compared in it", async () => {
  const { cases, policies } = JSON.parse(await run(worldFile("one.mjs", false), { json: true }));
  assert.equal(cases, 1);
  assert.equal(policies.warm.recovered, 1);
});

test("which policy is at work is said beside the output, which is JSON alone", async () => {
  const beside: string[] = [];
  JSON.parse(await run(worldFile("beside.mjs", false), { json: true }, beside));
  assert.deepEqual(beside, ["fixed, 1 of 4 …", "even, 2 of 4 …", "warm, 3 of 4 …", "oracle, 4 of 4 …"]);
});

test("where a static policy comes to more than Dunlin, it is said by how much", async () => {
  // Whoever tries least loses least.
  assert.match(await run(hopelessFile("behind.mjs", 0)), /, and is \d\.\d% of the money behind days 1, 3, 5, 7\.$/m);
});

test("a world that does not exist is answered with those that do", async () => {
  await assert.rejects(
    run("nope"),
    /There is no world "nope": it is one of balances, hard, .*, or the path of a module\./,
  );
  for (const none of ["", folder]) await assert.rejects(run(none), /There is no world "/);
  await assert.rejects(run("crude:nope"), /crude:LAW with a LAW of flat, night, .*hard, or the path of a module/);
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

test("where the oracle is no better than even tries there is said to be no gap", async () => {
  assert.match(await run(hopelessFile("hopeless.mjs", 0.9), { policies: "even" }), /so there is no gap to close\.$/);
});
