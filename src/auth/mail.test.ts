import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { networkInterfaces } from "node:os";
import { test } from "node:test";
import { setDefaultCACertificates } from "node:tls";
import { startMailServer } from "../../test/mail-server.ts";
import { createSelfSignedCertificate } from "../../test/self-signed-certificate.ts";
import { createMailer } from "./mail.ts";

const FROM = "dunlin@example.com";
const MAIL = { to: "ada@example.com", subject: "Grüße,\r\nBcc: eve@example.com", text: "Hello Ada,\n\nyours\n" };

test("a mail arrives with its address, subject and text, and its values cannot inject headers", async () => {
  const server = await startMailServer({});
  const { send } = createMailer({ url: `smtp://localhost:${server.port}`, from: FROM });
  assert.equal(await send(MAIL), null);
  assert.equal(await send({ ...MAIL, to: "a,eve@example.com" }), null);
  const [mail, odd] = server.mails;
  assert.deepEqual([mail!.from, mail!.to], [FROM, ["ada@example.com"]]);
  assert.match(mail!.text, /^From: Dunlin <dunlin@example\.com>\r$/m);
  assert.match(mail!.text, /^To: ada@example\.com\r$/m);
  assert.match(mail!.text, /Hello Ada,\r\n\r\nyours/);
  assert.doesNotMatch(mail!.text, /^Bcc:/m);
  assert.deepEqual(odd!.to.length, 1);
  await server.stop();
});

test("credentials are sent only over TLS or STARTTLS, to a server with a trusted certificate", async () => {
  const tls = await createSelfSignedCertificate();
  for (const secure of [true, false]) {
    setDefaultCACertificates([]);
    const server = await startMailServer({ tls, secure, login: { user: "dun:lin", password: "p@ss/word" } });
    const at = `${secure ? "smtps" : "smtp"}://dun%3Alin:p%40ss%2Fword@localhost:${server.port}`;
    assert.match((await createMailer({ url: at, from: FROM }).send(MAIL))!, /did not answer correctly|no trusted TLS/);
    setDefaultCACertificates([tls.cert]);
    const mailer = createMailer({ url: at, from: FROM });
    assert.equal(await mailer.check(), null);
    assert.equal(await mailer.send(MAIL), null);
    assert.deepEqual(
      server.mails.map((mail) => mail.isSecure),
      [true],
    );
    const wrong = createMailer({ url: at.replace("p%40ss", "pass"), from: FROM });
    assert.match((await wrong.send(MAIL))!, /rejected the user name or password \(its answer: 535/);
    await server.stop();
  }
});

test("nothing is sent unencrypted to a remote server", async () => {
  const server = await startMailServer({ login: { user: "u", password: "p" } });
  // Leads to this machine, but is not recognized as local.
  const { send } = createMailer({ url: `smtp://u:p@[::ffff:127.0.0.1]:${server.port}`, from: FROM });
  assert.match((await send(MAIL))!, /offers no trusted TLS/);
  assert.deepEqual([server.mails.length, server.logins.length], [0, 0]);
  await server.stop();
});

test("a refusal by the server is reported with its answer, in one line", async () => {
  const server = await startMailServer({ refuses: "no such person \u001b[2J here" });
  const { send } = createMailer({ url: `smtp://localhost:${server.port}`, from: FROM });
  const refusal = await send(MAIL);
  assert.match(refusal!, /^the mail server rejected the address \(its answer: .*no such person/);
  assert.doesNotMatch(refusal!, /\p{Cc}/u);
  await server.stop();
});

test("a refusal of the message is distinguished from a refusal of the address", async () => {
  const server = await startMailServer({ refusesText: "too odd" });
  const { send } = createMailer({ url: `smtp://localhost:${server.port}`, from: FROM });
  assert.equal(await send(MAIL), "the mail server rejected the message (its answer: 450 too odd)");
  await server.stop();
});

test("an answer of several lines becomes one line of at most 200 characters", async () => {
  const answers = ["550-\u001b\u0007 one\r\n550 two\t\r\n", `550 ${"x".repeat(300)}\r\n`];
  const server = createServer((socket) => {
    socket.write("220 mail.example.com\r\n");
    socket.on("data", (line) => socket.write(String(line).startsWith("MAIL") ? answers.shift()! : "250 yes\r\n"));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  const { send } = createMailer({ url: `smtp://127.0.0.1:${port}`, from: FROM });
  assert.equal(await send(MAIL), "the mail server rejected the address (its answer: 550-  one 550 two)");
  assert.match((await send(MAIL))!, /\(its answer: 550 x{196}\)$/);
  server.close();
});

test("a server on this machine needs no TLS, for any local address", async () => {
  const hasIpv6 = Object.values(networkInterfaces()).some((all) => all!.some(({ address }) => address === "::1"));
  for (const host of hasIpv6 ? ["127.0.0.1", "::1"] : ["127.0.0.1"]) {
    const server = await startMailServer({ host });
    const at = host.includes(":") ? `[${host}]` : host;
    assert.equal(await createMailer({ url: `smtp://${at}:${server.port}`, from: FROM }).send(MAIL), null);
    await server.stop();
  }
});

test("a mail fails quickly when the server is down or silent", async () => {
  const server = await startMailServer({});
  await server.stop();
  const down = createMailer({ url: `smtp://localhost:${server.port}`, from: FROM });
  assert.match((await down.send(MAIL))!, /did not answer correctly/);
  const silentServer = createServer((socket) => socket.resume()).listen(0, "127.0.0.1");
  await once(silentServer, "listening");
  const { port } = silentServer.address() as { port: number };
  const waiting = createMailer({ url: `smtp://127.0.0.1:${port}`, from: FROM }, { timeoutMs: 100 });
  assert.match((await waiting.send(MAIL))!, /did not answer correctly/);
  silentServer.close();
});

test("a connector stores the codes of an answer, and no address from its text", async () => {
  const server = await startMailServer({ refuses: "5.1.1 <ada@example.com> unknown" });
  const { send } = createMailer({ url: `smtp://localhost:${server.port}`, from: FROM }, { shownAnswer: "codes" });
  assert.equal(await send(MAIL), "the mail server rejected the address (its answer: 550 5.1.1)");
  await server.stop();
});
