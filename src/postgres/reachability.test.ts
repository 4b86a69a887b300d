import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createTestDatabase } from "../../test/database.ts";
import { describeRefusal, findDatabaseProblem } from "./reachability.ts";

const { address, drop } = await createTestDatabase();
after(() => drop());

const withCode = (code: string, message = "said by the server") => Object.assign(new Error(message), { code });

test("a database that takes writes is reached, and one behind a closed port is not", async () => {
  assert.equal(await findDatabaseProblem(address), null);
  assert.match((await findDatabaseProblem({ url: "postgres://dunlin@127.0.0.1:1/dunlin" }))!, /ECONNREFUSED/);
});

test("what no waiting mends is thrown", async () => {
  if ("url" in address) throw new Error("the test's server has a socket");
  await assert.rejects(findDatabaseProblem({ ...address, database: "nowhere" }), { code: "3D000" });
});

test("a refusal says what is wrong with the address; an outage is none", () => {
  assert.match(describeRefusal(withCode("28P01"))!, /a user or a password that the server does not accept/);
  assert.match(describeRefusal(withCode("28000"))!, /a user whom the server does not let in/);
  assert.match(
    describeRefusal(withCode("DEPTH_ZERO_SELF_SIGNED_CERT", "self-signed certificate"))!,
    /certificate is not trusted/,
  );
  assert.match(
    describeRefusal(new Error("SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string"))!,
    /names no password/,
  );
  for (const code of ["57P03", "53300", "ECONNREFUSED"]) assert.equal(describeRefusal(withCode(code)), null);
});
