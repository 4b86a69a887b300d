import assert from "node:assert/strict";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { ensureLocalCertificate } from "./local-certificate.ts";

test("the certificate is kept, is made anew near its end and for a new host, and its key is private", async () => {
  const own = await mkdtemp(join(tmpdir(), "dunlin-cert-"));
  const now = new Date("2026-01-15T00:00:00Z");
  const days = (count: number) => new Date(now.getTime() + count * 86_400_000);
  const first = await ensureLocalCertificate(own, "localhost", now);
  assert.equal(first.made, true);
  assert.equal((await stat(join(own, "key.pem"))).mode & 0o777, 0o600);
  assert.deepEqual(await ensureLocalCertificate(own, "LOCALHOST", days(700)), { ...first, made: false });
  assert.equal((await ensureLocalCertificate(own, "localhost", days(775))).made, true);
  assert.equal((await ensureLocalCertificate(own, "pay.example.com", days(775))).made, true);
  assert.equal((await ensureLocalCertificate(own, "[::1]", days(775))).made, false);
  await rm(join(own, "key.pem"));
  assert.equal((await ensureLocalCertificate(own, "pay.example.com", days(775))).made, true);
  await rm(own, { recursive: true });
});
