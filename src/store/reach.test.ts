import assert from "node:assert/strict";
import { after, test } from "node:test";
import { testDatabase } from "../../test/database.ts";
import { refusalOf, whyUnreachable } from "./reach.ts";

const { address, drop } = await testDatabase();
after(() => drop());

const withCode = (code: string, message = "said by the server") => Object.assign(new Error(message), { code });

test("a database that takes writes is reached, and one behind a closed port is not", async () => {
  assert.equal(await whyUnreachable(address), null);
  assert.match((await whyUnreachable({ url: "postgres://dunlin@127.0.0.1:1/dunlin" }))!, /ECONNREFUSED/);
});

test("what no waiting mends is thrown", async () => {
  if ("url" in address) throw new Error("the test's server has a socket");
  await assert.rejects(whyUnreachable({ ...address, database: "nowhere" }), { code: "3D000" });
});

test("a refusal says what is wrong with the address; an outage is none", () => {
  assert.match(refusalOf(withCode("28P01"))!, /a user or a password that the server does not accept/);
  assert.match(refusalOf(withCode("28000"))!, /a user whom the server does not let in/);
  assert.match(
    refusalOf(withCode("DEPTH_ZERO_SELF_SIGNED_CERT", "self-signed certificate"))!,
    /certificate is not trusted/,
  );
  assert.match(
    refusalOf(new Error("SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string"))!,
    /names no password/,
  );
  for (const code of ["57P03", "53300", "ECONNREFUSED"]) assert.equal(refusalOf(withCode(code)), null);
});
