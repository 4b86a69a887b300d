import assert from "node:assert/strict";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { ensureLocalCertificate } from "./local-certificate.ts";

test("the certificate is reused, is replaced near its expiry and for a new host, and its key is private", async () => {
  const folder = await mkdtemp(join(tmpdir(), "dunlin-cert-"));
  const now = new Date("2026-01-15T00:00:00Z");
  const days = (count: number) => new Date(now.getTime() + count * 86_400_000);
  const first = await ensureLocalCertificate(folder, "localhost", now);
  assert.equal(first.isNew, true);
  assert.equal((await stat(join(folder, "key.pem"))).mode & 0o777, 0o600);
  assert.deepEqual(await ensureLocalCertificate(folder, "LOCALHOST", days(700)), { ...first, isNew: false });
  assert.equal((await ensureLocalCertificate(folder, "localhost", days(775))).isNew, true);
  assert.equal((await ensureLocalCertificate(folder, "pay.example.com", days(775))).isNew, true);
  assert.equal((await ensureLocalCertificate(folder, "[::1]", days(775))).isNew, false);
  await rm(join(folder, "key.pem"));
  assert.equal((await ensureLocalCertificate(folder, "pay.example.com", days(775))).isNew, true);
  await rm(folder, { recursive: true });
});
