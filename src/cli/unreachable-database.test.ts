import assert from "node:assert/strict";
import { test } from "node:test";
import { describeUnreachableDatabase } from "./unreachable-database.ts";

const settings = { databaseUrl: "postgres://dunlin@coordinator:5432/dunlin" };
const withCode = (code: string, message: string) => Object.assign(new Error(message), { code });

test("names the server of a cluster that its coordinator cannot reach", () => {
  const says =
    "connection to the remote node dunlin_worker@worker-1:5432 failed with the following error: Connection refused\n\tIs the server running?";
  assert.equal(
    describeUnreachableDatabase(withCode("08006", says), settings),
    "coordinator:5432 cannot reach worker-1:5432, a server of its cluster. Start PostgreSQL there.",
  );
});

test("names the server that does not answer, and no cause for other errors", () => {
  assert.equal(
    describeUnreachableDatabase(withCode("ECONNREFUSED", "connect ECONNREFUSED"), settings),
    "cannot connect to coordinator:5432: connect ECONNREFUSED. Start PostgreSQL there, or set DATABASE_URL to where it runs.",
  );
  assert.equal(describeUnreachableDatabase(withCode("42601", "syntax error"), settings), null);
});
