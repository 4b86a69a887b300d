import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createTestDatabase } from "../../test/database.ts";
import { describeRefusal, findDatabaseProblem } from "./reachability.ts";

const { address, drop } = await createTestDatabase();
after(() => drop());

const withCode = (code: string, message = "said by the server") => Object.assign(new Error(message), { code });

test("a database that accepts writes has no problem, and one behind a closed port has one", async () => {
  assert.equal(await findDatabaseProblem(address), null);
  assert.match((await findDatabaseProblem({ url: "postgres://dunlin@127.0.0.1:1/dunlin" }))!, /ECONNREFUSED/);
});

test("an error that does not pass by waiting is thrown", async () => {
  if ("url" in address) throw new Error("the test's server has a socket");
  await assert.rejects(findDatabaseProblem({ ...address, database: "nowhere" }), { code: "3D000" });
});

test("a refusal is explained by the address, and an outage is not a refusal", () => {
  assert.match(describeRefusal(withCode("28P01"))!, /a user or password that the server does not accept/);
  assert.match(describeRefusal(withCode("28000"))!, /a user that is not allowed to connect/);
  assert.match(
    describeRefusal(withCode("DEPTH_ZERO_SELF_SIGNED_CERT", "self-signed certificate"))!,
    /certificate is not trusted/,
  );
  assert.match(
    describeRefusal(new Error("SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string"))!,
    /has no password/,
  );
  for (const code of ["57P03", "53300", "ECONNREFUSED"]) assert.equal(describeRefusal(withCode(code)), null);
});
