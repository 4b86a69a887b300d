import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { Settings } from "../config/config.ts";
import { ensureLocalCertificate } from "../http/local-certificate.ts";
import type { Database } from "../postgres/database.ts";
import { createTestContext } from "./context.fixture.ts";
import { trust } from "./trust.ts";

const folder = mkdtempSync(join(tmpdir(), "dunlin-trust-"));
after(() => rmSync(folder, { recursive: true }));

async function runTrust(settings: Partial<Settings>) {
  const { context, lines } = createTestContext({} as Database, { authUrl: "https://localhost:8443", ...settings });
  await trust.run(context, {}, []);
  return lines;
}

test("`trust` prints the authority's file and the steps for each system, and changes nothing", async () => {
  const dataDir = join(folder, "it's data");
  const local = { tls: "on" as const, certificate: null, dataDir };
  await assert.rejects(runTrust(local), /ca\.pem does not exist yet. The first start creates it: npm start/);
  mkdirSync(dataDir);
  const { caFile } = await ensureLocalCertificate(join(dataDir, "tls"), "localhost", new Date());
  const before = readdirSync(dataDir, { recursive: true }).map((name) => statSync(join(dataDir, `${name}`)).mtimeMs);
  const lines = await runTrust(local);
  const after = readdirSync(dataDir, { recursive: true }).map((name) => statSync(join(dataDir, `${name}`)).mtimeMs);
  assert.deepEqual(after, before);
  assert.equal(lines[1], `  ${caFile}`);
  const { fingerprint256 } = new X509Certificate(readFileSync(caFile));
  assert.ok(lines[2]!.includes(fingerprint256));
  for (const system of ["Linux: Chrome", "Linux: curl", "macOS: Safari", "Windows: Chrome", "Firefox"])
    assert.ok(
      lines.some((line) => line.startsWith(system)),
      system,
    );
  // The shell command quotes the file name.
  const copy = lines.find((line) => line.includes("sudo cp "))!;
  const [, word] = /sudo cp (.*) \/usr/.exec(copy)!;
  assert.equal(execFileSync("/bin/sh", ["-c", `printf %s ${word}`], { encoding: "utf8" }), caFile);
});

test("`trust` prints no file to import when the certificate is not Dunlin's own", async () => {
  assert.match((await runTrust({ tls: "proxy" })).join("\n"), /^A proxy in front of Dunlin has the certificate/);
  const certificate = { cert: "", key: "" };
  assert.match((await runTrust({ tls: "on", certificate })).join("\n"), /^DUNLIN_TLS_CERT names the certificate/);
});
