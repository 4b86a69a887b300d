import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createSelfSignedCertificate } from "../../../test/self-signed-certificate.ts";
import { parseAllowList } from "./address-guard.ts";
import { createSender, type Sender, type SenderOptions } from "./https-sender.ts";
import { type Receiver, startRawReceiver, startReceiver } from "./receiver.fixture.ts";
import { USER_AGENT } from "./request-head.ts";

const closers: (() => unknown)[] = [];
after(() => Promise.all(closers.map((close) => close())));

const LIMITS = { replyMs: 1_000, bodyMs: 150, bodyBytes: 65_536 };

function senderFor(receiver: Receiver, options: Partial<SenderOptions> = {}): Sender {
  const sender = createSender({
    allow: receiver.allow,
    extraCa: receiver.ca,
    monotonicMs: () => performance.now(),
    limits: LIMITS,
    ...options,
  });
  closers.push(
    () => sender.close(),
    () => receiver.close(),
  );
  return sender;
}

const post = (sender: Sender, receiver: Receiver, body = '{"id":"1"}') =>
  sender.send({ origin: receiver.origin, path: "/hook?x=1", authorization: "Bearer tok", body });

test("a post has the documented headers and the exact body, and reuses its connection", async () => {
  const seen: { path: string; headers: Record<string, unknown>; body: string }[] = [];
  const receiver = await startReceiver((request, reply) => {
    seen.push(request);
    reply.writeHead(seen.length === 1 ? 200 : 204).end();
  });
  const sender = senderFor(receiver);
  const body = '{"id":"é€😀"}';
  assert.deepEqual(await post(sender, receiver, body), {
    outcome: "response",
    status: 200,
    retryAfter: null,
    text: null,
  });
  assert.deepEqual(await post(sender, receiver, body), {
    outcome: "response",
    status: 204,
    retryAfter: null,
    text: null,
  });
  assert.equal(seen[0]?.body, body);
  assert.equal(seen[0]?.path, "/hook?x=1");
  const { host, connection, "content-length": length, ...headers } = seen[0]?.headers ?? {};
  assert.deepEqual(headers, {
    "content-type": "application/json",
    "user-agent": USER_AGENT,
    authorization: "Bearer tok",
  });
  assert.deepEqual(
    [host, connection, Number(length)],
    [`127.0.0.1:${receiver.port}`, "keep-alive", Buffer.byteLength(body)],
  );
  assert.equal(receiver.connections(), 1);
  assert.deepEqual(sender.connections(), { open: 1, idle: 1, made: 1 });
});

test("a redirect is an ordinary reply and is not followed", async () => {
  let requests = 0;
  const receiver = await startReceiver((_request, reply) => {
    requests++;
    reply.writeHead(307, { location: "/elsewhere" }).end("moved");
  });
  const reply = await post(senderFor(receiver), receiver);
  assert.deepEqual(reply, { outcome: "response", status: 307, retryAfter: null, text: "moved" });
  assert.equal(requests, 1);
});

test("Retry-After is kept for 429 and 503, but not for 500", async () => {
  const statuses = [429, 503, 500];
  const receiver = await startReceiver((_request, reply) => {
    reply.writeHead(statuses.shift() ?? 200, { "retry-after": "7" }).end();
  });
  const sender = senderFor(receiver);
  const keptTexts: (string | null)[] = [];
  for (let i = 0; i < 3; i++) {
    const reply = await post(sender, receiver);
    keptTexts.push(reply.outcome === "response" ? reply.retryAfter : "none");
  }
  assert.deepEqual(keptTexts, ["7", "7", null]);
});

test("the first 4 KiB of an unsuccessful reply are kept", async () => {
  const receiver = await startReceiver((_request, reply) => reply.writeHead(500).end("x".repeat(10_000)));
  const reply = await post(senderFor(receiver), receiver);
  assert.equal(reply.outcome === "response" && reply.text, "x".repeat(4_096));
});

const wholeReply = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi";

test("one attempt fails without a second post when a kept connection is closed as it is reused", async () => {
  const bodies: string[] = [];
  const receiver = await startRawReceiver((socket, body, reset) => {
    bodies.push(body);
    if (body === "1") socket.write(wholeReply);
    else reset();
  });
  const sender = senderFor(receiver);
  assert.equal((await post(sender, receiver, "1")).outcome, "response");
  assert.equal((await post(sender, receiver, "2")).outcome, "failed");
  await sleep(50);
  assert.deepEqual(bodies, ["1", "2"]);
  assert.deepEqual(sender.connections(), { open: 0, idle: 0, made: 1 });
});

test("an unexpected second reply is not used for the next request", async () => {
  let requests = 0;
  const receiver = await startRawReceiver((socket) => {
    requests++;
    if (requests === 1) socket.write(`${wholeReply}HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n`);
    else socket.write("HTTP/1.1 500 x\r\ncontent-length: 0\r\n\r\n");
  });
  const sender = senderFor(receiver);
  assert.deepEqual(await post(sender, receiver), { outcome: "response", status: 200, retryAfter: null, text: null });
  const second = await post(sender, receiver);
  assert.equal(second.outcome === "response" && second.status, 500);
});

test("a success counts just before the deadline but not just after it", async () => {
  let delayMs = LIMITS.replyMs - 400;
  const receiver = await startReceiver((_request, reply) => void setTimeout(() => reply.writeHead(200).end(), delayMs));
  const sender = senderFor(receiver);
  assert.equal((await post(sender, receiver)).outcome, "response");
  delayMs = LIMITS.replyMs + 30;
  assert.deepEqual(await post(sender, receiver), { outcome: "failed", error: "no status line within 1 s" });
});

test("an attempt fails when nothing listens, the name is unknown or the credential is invalid", async () => {
  const receiver = await startReceiver(() => {});
  const resolve = () => Promise.reject(Object.assign(new Error("getaddrinfo"), { code: "ENOTFOUND" }));
  const sender = senderFor(receiver, { allow: parseAllowList("127.0.0.1/32:9"), resolve });
  const request = { path: "/", authorization: null, body: "{}" };
  const refusedReply = await sender.send({ ...request, origin: "https://127.0.0.1:9" });
  assert.match(refusedReply.outcome === "failed" ? refusedReply.error : "", /refused/);
  const unknown = await sender.send({ ...request, origin: "https://nobody.example" });
  assert.match(unknown.outcome === "failed" ? unknown.error : "", /not found/);
  const credential = await sender.send({ ...request, origin: "https://127.0.0.1:9", authorization: "Bearer a\r\nb" });
  assert.match(credential.outcome === "failed" ? credential.error : "", /authorization/);
});

test("an attempt fails when the certificate is unknown, expired or for another name", async () => {
  const receiver = await startReceiver((_request, reply) => reply.end());
  const untrusted = await post(senderFor(receiver, { extraCa: null }), receiver);
  assert.match(untrusted.outcome === "failed" ? untrusted.error : "", /self.signed|verify/i);
  const local = [{ address: "127.0.0.1", family: 4 }];
  const sender = senderFor(receiver, { resolve: async () => local });
  const otherReply = await sender.send({
    origin: `https://other.example:${receiver.port}`,
    path: "/",
    authorization: null,
    body: "{}",
  });
  assert.match(otherReply.outcome === "failed" ? otherReply.error : "", /altnames|Hostname/);
  const namedReply = await sender.send({
    origin: `https://merchant.example:${receiver.port}`,
    path: "/",
    authorization: null,
    body: "{}",
  });
  assert.equal(namedReply.outcome, "response");
  const expired = await createSelfSignedCertificate(new Date("2020-01-01"), new Date("2020-02-01"));
  const late = await startRawReceiver((socket) => socket.write(wholeReply), expired);
  const failed = await post(senderFor(late), late);
  assert.match(failed.outcome === "failed" ? failed.error : "", /expired/);
});

test("a refused numeric address is never connected to", async () => {
  const receiver = await startReceiver((_request, reply) => reply.end());
  const reply = await post(senderFor(receiver, { allow: [] }), receiver);
  assert.match(reply.outcome === "failed" ? reply.error : "", /not a public address/);
  assert.equal(receiver.connections(), 0);
});

test("a name is refused when it is public when saved and private when dialed", async () => {
  const receiver = await startReceiver((_request, reply) => reply.end());
  const answers = [["127.0.0.1"], ["169.254.169.254"], ["::ffff:127.0.0.1"], [], ["10.0.0.1", "::1"]];
  const sender = senderFor(receiver, {
    allow: [],
    resolve: async () => (answers.shift() ?? []).map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
  });
  const count = answers.length;
  for (let i = 0; i < count; i++) {
    const request = { origin: `https://merchant.example:${receiver.port}`, path: "/", authorization: null, body: "{}" };
    const reply = await sender.send(request);
    assert.match(reply.outcome === "failed" ? reply.error : "", /not a public address|no address/);
  }
  assert.equal(receiver.connections(), 0);
});

test("an address in an allowed private range is dialed, but its forbidden neighbor in the same answer is not", async () => {
  const receiver = await startReceiver((_request, reply) => reply.end());
  const resolve = async () => [
    { address: "10.9.9.9", family: 4 },
    { address: "127.0.0.1", family: 4 },
  ];
  const sender = senderFor(receiver, { resolve });
  const reply = await sender.send({
    origin: `https://localhost:${receiver.port}`,
    path: "/",
    authorization: null,
    body: "{}",
  });
  assert.equal(reply.outcome, "response");
});

test("closing the sender fails attempts in flight and leaves no connection", async () => {
  const receiver = await startReceiver(() => {});
  const sender = senderFor(receiver);
  const reply = post(sender, receiver);
  await sleep(50);
  sender.close();
  assert.equal((await reply).outcome, "failed");
  assert.deepEqual(sender.connections(), { open: 0, idle: 0, made: 1 });
});
