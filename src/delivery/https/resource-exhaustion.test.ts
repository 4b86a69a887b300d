import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { findFreePort } from "../../../test/free-port.ts";
import type { Reply } from "./exchange.ts";
import { isExhaustion } from "./resource-exhaustion.ts";

test("a local shortage of files, memory or ports is distinguished from a failure of the endpoint", () => {
  const coded = (code: string) => Object.assign(new Error(code), { code });
  for (const code of ["EMFILE", "ENFILE", "ENOMEM", "ENOBUFS", "EADDRNOTAVAIL", "EAI_MEMORY"]) {
    assert.ok(isExhaustion(coded(code)), code);
    assert.ok(isExhaustion(new AggregateError([coded("ECONNREFUSED"), coded(code)])), code);
    assert.ok(isExhaustion(new Error("wrapped", { cause: coded(code) })), code);
  }
  for (const code of ["ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "ENOTFOUND", "EAI_AGAIN", "EPIPE"])
    assert.ok(!isExhaustion(coded(code)), code);
  for (const other of [null, undefined, new Error("x"), "EMFILE"]) assert.ok(!isExhaustion(other));
});

for (const host of ["127.0.0.1", "localhost"])
  test(`a process out of file handles reports a local failure for ${host}, and recovers`, async () => {
    const program = join(import.meta.dirname, "no-files-left.fixture.ts");
    const command = `ulimit -n 64; exec "${process.execPath}" "${program}" ${await findFreePort()} ${host}`;
    const { stdout } = await promisify(execFile)("sh", ["-c", command]);
    const [without, later] = JSON.parse(stdout) as Reply[];
    assert.partialDeepStrictEqual(without, { outcome: "failed", isLocalFailure: true });
    assert.deepEqual(later, { outcome: "failed", error: "the connection was refused (ECONNREFUSED)" });
  });
