import assert from "node:assert/strict";
import { createPrivateKey } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { createSelfSignedCertificate } from "../../test/self-signed-certificate.ts";
import { readSettings } from "./config.ts";

const folder = mkdtempSync(join(tmpdir(), "dunlin-pem-"));
after(() => rmSync(folder, { recursive: true }));
const NOW = new Date("2026-11-20T12:00:00Z");
const [one, two, old] = await Promise.all([
  createSelfSignedCertificate(),
  createSelfSignedCertificate(),
  createSelfSignedCertificate(new Date("2020-01-01"), new Date("2020-02-01")),
]);
const file = (name: string, text: string) => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};
const cert = file("cert.pem", one.cert);
const key = file("key.pem", one.key);
const [CERT, KEY] = ["DUNLIN_WEBHOOK_CLIENT_CERT", "DUNLIN_WEBHOOK_CLIENT_KEY"];
const read = (environment: Record<string, string>) => readSettings(environment, () => null, NOW);

test("a client certificate with its key is accepted, and none is no problem", () => {
  const { settings, problems } = read({ [CERT]: cert, [KEY]: key });
  assert.deepEqual(problems, []);
  assert.deepEqual(settings.webhookClientCertificate, { cert: one.cert, key: one.key });
  assert.equal(read({}).settings.webhookClientCertificate, null);
});

for (const [name, environment, setting, words] of [
  ["no key", { [CERT]: cert }, KEY, /is missing: set both or neither/],
  ["no certificate", { [KEY]: key }, CERT, /is missing: set both or neither/],
  ["a missing file", { [CERT]: join(folder, "none.pem"), [KEY]: key }, CERT, /none\.pem" does not exist/],
  ["an unreadable file", { [CERT]: folder, [KEY]: key }, CERT, /cannot be read \(EISDIR\)/],
  ["a file that is not PEM", { [CERT]: file("x.pem", "hello"), [KEY]: key }, CERT, /is not a PEM file/],
  ["a key in place of a certificate", { [CERT]: key, [KEY]: key }, CERT, /does not contain a readable certificate/],
  ["a certificate in place of a key", { [CERT]: cert, [KEY]: cert }, KEY, /does not contain a readable private key/],
  [
    "the key of another certificate",
    { [CERT]: cert, [KEY]: file("two.pem", two.key) },
    KEY,
    /is not the private key of the/,
  ],
  [
    "an expired certificate",
    { [CERT]: file("old.pem", old.cert), [KEY]: file("oldkey.pem", old.key) },
    CERT,
    /expired 2020-02-01.*unset both/,
  ],
] as const)
  test(`a client certificate with ${name} causes one clear problem`, () => {
    const { problems } = read(environment);
    assert.deepEqual(
      problems.map(({ name }) => name),
      [setting],
    );
    assert.match(problems[0]!.problem, words);
    assert.ok(!problems[0]!.problem.includes("BEGIN"), "the key is not shown");
  });

test("a key that needs a password is refused because nobody can type it", () => {
  const encrypted = { type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase: "x" } as const;
  const locked = file("locked.pem", createPrivateKey(one.key).export(encrypted).toString());
  assert.match(read({ [CERT]: cert, [KEY]: locked }).problems[0]!.problem, /without a password/);
});

test("the service's own certificate must match its key, too", () => {
  const { problems } = read({ DUNLIN_TLS_CERT: cert, DUNLIN_TLS_KEY: file("three.pem", two.key) });
  assert.deepEqual(
    problems.map(({ name }) => name),
    ["DUNLIN_TLS_KEY"],
  );
});
