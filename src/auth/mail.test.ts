import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { test } from "node:test";
import { setDefaultCACertificates } from "node:tls";
import { selfSigned } from "../../test/certificate.ts";
import { startMailServer } from "../../test/mail-server.ts";
import { createMailer } from "./mail.ts";

const FROM = "dunlin@example.com";
const MAIL = { to: "ada@example.com", subject: "Grüße,\r\nBcc: eve@example.com", text: "Hello Ada,\n\nyours\n" };

test("a mail arrives with its address, its subject and its text, and nothing typed becomes a header of its own", async () => {
  const server = await startMailServer({});
  const { send } = createMailer({ url: `smtp://localhost:${server.port}`, from: FROM });
  assert.equal(await send(MAIL), null);
  assert.equal(await send({ ...MAIL, to: "a,eve@example.com" }), null);
  const [mail, odd] = server.mails;
  assert.deepEqual([mail!.from, mail!.to], [FROM, ["ada@example.com"]]);
  assert.match(mail!.text, /^From: Dunlin <dunlin@example\.com>\r$/m);
  assert.match(mail!.text, /Hello Ada,\r\n\r\nyours/);
  assert.doesNotMatch(mail!.text, /^Bcc:/m);
  assert.deepEqual(odd!.to.length, 1);
  await server.stop();
});

test("user and password go over TLS, from the first byte or by STARTTLS, to a server whose certificate is trusted", async () => {
  const tls = await selfSigned();
  for (const secure of [true, false]) {
    setDefaultCACertificates([]);
    const server = await startMailServer({ tls, secure, login: { user: "dun:lin", password: "p@ss/word" } });
    const at = `${secure ? "smtps" : "smtp"}://dun%3Alin:p%40ss%2Fword@localhost:${server.port}`;
    assert.match((await createMailer({ url: at, from: FROM }).send(MAIL))!, /does not answer as it should|no TLS/);
    setDefaultCACertificates([tls.cert]);
    const mailer = createMailer({ url: at, from: FROM });
    assert.equal(await mailer.check(), null);
    assert.equal(await mailer.send(MAIL), null);
    assert.deepEqual(
      server.mails.map((mail) => mail.isSecure),
      [true],
    );
    const wrong = createMailer({ url: at.replace("p%40ss", "pass"), from: FROM });
    assert.match((await wrong.send(MAIL))!, /refuses our user and password \(it says: 535/);
    await server.stop();
  }
});

test("to a server elsewhere nothing is said in the clear", async () => {
  const server = await startMailServer({ login: { user: "u", password: "p" } });
  // An address that is not among those of this machine, and leads here all the same.
  const { send } = createMailer({ url: `smtp://u:p@[::ffff:127.0.0.1]:${server.port}`, from: FROM });
  assert.match((await send(MAIL))!, /offers no TLS/);
  assert.deepEqual([server.mails.length, server.logins.length], [0, 0]);
  await server.stop();
});

test("what a server says no to is told in its words, as text of one line", async () => {
  const server = await startMailServer({ refuses: "no such person \u001b[2J here" });
  const { send } = createMailer({ url: `smtp://localhost:${server.port}`, from: FROM });
  const says = await send(MAIL);
  assert.match(says!, /^the mail server refuses the address \(it says: .*no such person/);
  assert.doesNotMatch(says!, /\p{Cc}/u);
  await server.stop();
});

test("a server that is down, or that never says a word, is not waited for", async () => {
  const server = await startMailServer({});
  await server.stop();
  const down = createMailer({ url: `smtp://localhost:${server.port}`, from: FROM });
  assert.match((await down.send(MAIL))!, /does not answer as it should/);
  const mute = createServer((socket) => socket.resume()).listen(0, "127.0.0.1");
  await once(mute, "listening");
  const { port } = mute.address() as { port: number };
  const waiting = createMailer({ url: `smtp://127.0.0.1:${port}`, from: FROM }, 100);
  assert.match((await waiting.send(MAIL))!, /does not answer as it should/);
  mute.close();
});
