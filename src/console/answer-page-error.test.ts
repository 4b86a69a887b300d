import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createTestConsole, type TestConsole } from "./console.fixture.ts";

let at: TestConsole;
before(async () => {
  at = await createTestConsole();
});
after(() => at.close());

const titleOf = (page: string) => /<h1>([^<]*)<\/h1>/.exec(page)![1];

test("a filter converts a code to capital letters and keeps the other filters", async () => {
  const viewer = await at.as("viewer");
  for (const [typed, read] of [
    ["/actions?customerId=cus_a&currency=eur&cardCountry=de", "/actions?customerId=cus_a&currency=EUR&cardCountry=DE"],
    ["/invoices?customerId=cus_a&currency=eur", "/invoices?customerId=cus_a&currency=EUR"],
  ] as const) {
    const reply = await viewer.get(typed);
    assert.equal(reply.headers.location, read);
    assert.equal((await viewer.get(read)).statusCode, 200);
  }
});

test("an address with an invalid parameter links to the same page without it", async () => {
  const viewer = await at.as("viewer");
  for (const [path, field] of [
    ["/actions?customerId=cus_a&currency=euro", "currency"],
    ["/actions?customerId=cus_a&colour=red", "colour"],
    ["/invoices?customerId=cus_a&outcome=none", "outcome"],
  ] as const) {
    const reply = await viewer.get(path);
    assert.equal(reply.statusCode, 400);
    assert.match(titleOf(reply.body)!, /^Invalid address/);
    const rest = path.replace(/&.*/, "");
    assert.match(reply.body, new RegExp(`href="${rest.replace("?", "\\?")}">Without “${field}”`));
    assert.equal((await viewer.get(rest)).statusCode, 200);
  }
});

test("a refused form is not reported as an invalid address", async () => {
  const developer = await at.as("developer");
  const wrong = await developer.post("/settings/webhook/test", { type: "nothing" });
  assert.deepEqual([wrong.statusCode, titleOf(wrong.body)], [400, "Nothing was changed"]);
  const replay = await developer.post("/deliveries/replay", { type: "nothing", createdFrom: "", createdTo: "" });
  assert.match(replay.body, /&quot;type&quot; must be one of/);
  assert.doesNotMatch(replay.body, /Without/, "the invalid field is in the form, not in the address");
  const admin = await at.as("admin");
  const stopped = await admin.post("/experiments/019f0000-0000-7000-8000-000000000000/stop", {});
  assert.deepEqual([stopped.statusCode, titleOf(stopped.body)], [409, "Not possible now"]);
});
