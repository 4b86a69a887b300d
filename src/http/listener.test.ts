import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { type ClientRequest, request as httpRequest, type IncomingMessage } from "node:http";
import { Agent, request } from "node:https";
import { connect as connectPlain, type Socket } from "node:net";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { connect as connectTls } from "node:tls";
import { createTestDatabase, type TestDatabase } from "../../test/database.ts";
import { INVOICE, testApi, testClock, testKey, testMerchant } from "../api/api.fixture.ts";
import { ensureLocalCertificate } from "./local-certificate.ts";

const BATCH = JSON.stringify({ invoices: [INVOICE] });
const hasIpv6 = Object.values(networkInterfaces()).some((addresses) =>
  addresses?.some(({ address }) => address === "::1"),
);
let database: TestDatabase;
let api: Awaited<ReturnType<typeof testApi>>;
let folder: string;
let ca: string;
let port: number;
let key: string;

before(async () => {
  database = await createTestDatabase();
  folder = await mkdtemp(join(tmpdir(), "dunlin-tls-"));
  const { cert, key: tlsKey, caFile } = await ensureLocalCertificate(folder, "localhost", new Date());
  ca = await readFile(caFile, "utf8");
  api = await testApi(database.db, testClock(), { tls: { cert, key: tlsKey } });
  ({ port } = await api.listen({ host: "localhost", port: 0 }));
  const merchant = await testMerchant(database.db, api.ports);
  key = (await testKey(database.db, api.ports, merchant)).apiKey;
});
after(async () => {
  await api.close();
  await database.drop();
  await rm(folder, { recursive: true });
});

const auth = () => `Authorization: Bearer ${key}\r\n`;

async function textOf(socket: Socket): Promise<string> {
  let text = "";
  socket.setEncoding("utf8").on("data", (chunk) => {
    text += chunk;
  });
  socket.on("error", () => {});
  await once(socket, "close");
  return text;
}

async function exchange(bytes: string) {
  const socket = connectTls({ port, host: "127.0.0.1", servername: "localhost", ca });
  await once(socket, "secureConnect");
  socket.write(bytes);
  return textOf(socket);
}
const ingest = (headers: string, body: string) =>
  exchange(
    `POST /ingest/v1/invoices HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n${headers}\r\n${body}`,
  );
const assertRefused = (text: string, status: number, message: RegExp) => {
  assert.match(text, new RegExp(`^HTTP/1.1 ${status} `));
  const reply = JSON.parse(text.slice(text.indexOf("\r\n\r\n") + 4));
  assert.equal(reply.code, status);
  assert.match(reply.message, message);
  assert.deepEqual(reply.details, []);
};

async function replyOf(sent: ClientRequest) {
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  let body = "";
  for await (const chunk of response) body += chunk;
  return { status: response.statusCode, headers: response.headers, body };
}

test("HTTPS works with the local CA on every local address", async () => {
  for (const host of ["localhost", "127.0.0.1", ...(hasIpv6 ? ["::1"] : [])]) {
    const reply = await replyOf(request({ host, port, path: "/healthz", ca, agent: new Agent() }).end());
    assert.equal(reply.body, '{"status":"ok"}');
  }
});

test("a TLS 1.1 handshake fails", async () => {
  const socket = connectTls({
    port,
    host: "127.0.0.1",
    ca,
    minVersion: "TLSv1.1",
    maxVersion: "TLSv1.1",
    ciphers: "DEFAULT@SECLEVEL=0",
  });
  const [error] = await once(socket, "error");
  assert.match(String(error), /protocol|version|alert/i);
});

test("plain HTTP gets an explanation, whatever it sends", async () => {
  for (const bytes of [
    "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n",
    "garbage",
    `POST /ingest/v1/invoices HTTP/1.1\r\nContent-Length: 100000\r\n\r\n${"x".repeat(100_000)}`,
  ]) {
    const socket = connectPlain(port, "127.0.0.1");
    socket.write(bytes);
    assertRefused(await textOf(socket), 400, /^This port accepts HTTPS only: use https:\/\//);
  }
  const reply = await replyOf(httpRequest({ host: "127.0.0.1", port, path: "/" }).end());
  assert.equal(reply.status, 400);
});

test("a batch arrives over HTTPS, with a length and in chunks", async () => {
  assert.match(await ingest(`${auth()}Content-Length: ${BATCH.length}\r\n`, BATCH), /^HTTP\/1.1 200 /);
  const chunks = `${BATCH.length.toString(16)}\r\n${BATCH}\r\n0\r\n\r\n`;
  assert.match(await ingest(`${auth()}Transfer-Encoding: chunked\r\n`, chunks), /^HTTP\/1.1 200 /);
});

test("duplicate headers are refused", async () => {
  const length = `Content-Length: ${BATCH.length}\r\n`;
  assertRefused(await ingest(`${auth()}Host: other\r\n${length}`, BATCH), 400, /host appears more than once/);
  assertRefused(await ingest(`${auth()}${auth()}${length}`, BATCH), 401, /authorization appears more than once/);
  assertRefused(
    await ingest(`${auth()}Content-Type: text/plain\r\n${length}`, BATCH),
    400,
    /content-type appears more than once/,
  );
  assertRefused(await ingest(`${auth()}${length}Content-Length: 1\r\n`, BATCH), 400, /not valid HTTP/);
});

test("transfer encodings other than chunked, and conflicting body lengths, are refused", async () => {
  const chunks = `${BATCH.length.toString(16)}\r\n${BATCH}\r\n0\r\n\r\n`;
  assertRefused(await ingest(`${auth()}Transfer-Encoding: gzip, chunked\r\n`, chunks), 400, /Transfer-Encoding/);
  assertRefused(
    await ingest(`${auth()}Transfer-Encoding: chunked\r\nContent-Length: 3\r\n`, chunks),
    400,
    /not valid HTTP/,
  );
  assertRefused(
    await ingest(`${auth()}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n`, chunks),
    400,
    /transfer-encoding appears|not valid HTTP/,
  );
});

test("an absolute target names the same operation, and a request without Host or in another protocol gets a 400", async () => {
  assert.match(
    await exchange("GET https://localhost/healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"),
    /^HTTP\/1.1 200 /,
  );
  assert.match(
    await exchange("GET http://elsewhere HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"),
    /^HTTP\/1.1 404 /,
  );
  assert.match(await exchange("GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n"), /^HTTP\/1.1 400 /);
  assertRefused(await exchange("BREW /pot HTCPCP/1.0\r\n\r\n"), 400, /not valid HTTP/);
  assertRefused(await exchange("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 400, /not valid HTTP/);
  assertRefused(
    await exchange(`GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ${"x".repeat(40_000)}\r\n\r\n`),
    431,
    /headers are too large/,
  );
});

const get = (version: string, headers = "") =>
  `GET /healthz HTTP/${version}\r\nHost: localhost\r\n${headers}Connection: close\r\n\r\n`;

test("HTTP/1.0 is served, with and without ALPN", async () => {
  assert.match(await exchange(get("1.0")), /^HTTP\/1.1 200 /);
  for (const protocol of ["http/1.0", "http/1.1"]) {
    const socket = connectTls({ port, host: "127.0.0.1", servername: "localhost", ca, ALPNProtocols: [protocol] });
    await once(socket, "secureConnect");
    assert.equal(socket.alpnProtocol, protocol);
    socket.write(get("1.0"));
    assert.match(await textOf(socket), /^HTTP\/1.1 200 /);
  }
});

test("Transfer-Encoding in HTTP/1.0, and other HTTP versions, get a 400 and end the connection", async () => {
  const chunks = `${BATCH.length.toString(16)}\r\n${BATCH}\r\n0\r\n\r\n`;
  const head = `POST /ingest/v1/invoices HTTP/1.0\r\nConnection: keep-alive\r\nContent-Type: application/json\r\n${auth()}`;
  assertRefused(
    await exchange(`${head}Transfer-Encoding: chunked\r\n\r\n${chunks}`),
    400,
    /HTTP\/1.0 does not support Transfer/,
  );
  for (const version of ["2.0", "0.9"])
    assertRefused(await exchange(get(version).replace("close", "keep-alive")), 400, /not valid HTTP\/1.1/);
});

test("garbage after a stored batch does not change its answer", async () => {
  const post = (connection: string) =>
    `POST /ingest/v1/invoices HTTP/1.1\r\nHost: localhost\r\nConnection: ${connection}\r\nContent-Type: application/json\r\n${auth()}Content-Length: ${BATCH.length}\r\n\r\n${BATCH}`;
  const statuses = (text: string) => [...text.matchAll(/HTTP\/1.1 (\d+) /g)].map(([, status]) => status);
  assert.deepEqual(statuses(await exchange(`${post("keep-alive")}garbage\r\n\r\n`)), ["200", "400"]);
  assert.deepEqual(statuses(await exchange(`${post("keep-alive")}${post("keep-alive")}\0`)), ["200", "200", "400"]);
  assert.deepEqual(statuses(await exchange(`${post("close")}garbage\r\n\r\n`)), ["200"]);
  const chunked = post("keep-alive").replace(/Content-Length: \d+/, "Transfer-Encoding: chunked");
  assert.deepEqual(statuses(await exchange(`${post("keep-alive")}${chunked}`)), ["200", "400"]);
});

test("TRACE gets a 405, and OPTIONS * a 204 or 404", async () => {
  assertRefused(
    await exchange("TRACE /ingest/v1/invoices HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"),
    405,
    /POST, OPTIONS/,
  );
  assert.match(
    await exchange("OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"),
    /^HTTP\/1.1 (204|404) /,
  );
});

test("a request without a key is refused before its body is sent", async () => {
  const head = "Expect: 100-continue\r\nContent-Length: 1000000\r\n";
  assertRefused(await ingest(head, ""), 401, /missing/);
  assertRefused(await ingest(`${auth()}Expect: 100-continue\r\nContent-Length: 9000000\r\n`, ""), 413, /larger/);
  assertRefused(await ingest(`${auth()}Expect: cake\r\nContent-Length: 9\r\n`, "123456789"), 417, /Expect/);
  const welcome = await ingest(`${auth()}Expect: 100-continue\r\nContent-Length: ${BATCH.length}\r\n`, BATCH);
  assert.match(welcome, /^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 200 OK/);
});

test("a streamed body that is too large gets a 413 while the client is still sending", async () => {
  const sent = request({
    host: "127.0.0.1",
    port,
    ca,
    path: "/ingest/v1/invoices",
    method: "POST",
    agent: new Agent(),
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
  });
  sent.on("error", () => {});
  const reply = replyOf(sent);
  for (let count = 0; count < 48; count++) sent.write(Buffer.alloc(64 * 1024, " "));
  sent.end();
  assert.equal((await reply).status, 413);
});

test("the service keeps working after a body that is shorter than announced", async () => {
  const socket = connectTls({ port, host: "127.0.0.1", servername: "localhost", ca });
  await once(socket, "secureConnect");
  socket.end(
    `POST /ingest/v1/invoices HTTP/1.1\r\nHost: localhost\r\n${auth()}Content-Type: application/json\r\nContent-Length: 50\r\n\r\n{`,
  );
  await textOf(socket);
  assert.match(await exchange("GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"), /200/);
});

test("close finishes the request in flight and accepts no other", async () => {
  let finish = () => {};
  const slow = await testApi(database.db, testClock(), {
    ingest: {
      subscriptions: async () => ({ stored: 0, older: 0 }),
      invoices: () => new Promise((resolve) => (finish = () => resolve({ stored: 1, older: 0 }))),
      transactions: async () => ({ stored: 0, older: 0 }),
    },
  });
  const at = await slow.listen({ host: "127.0.0.1", port: 0 });
  const sent = httpRequest({
    host: "127.0.0.1",
    port: at.port,
    path: "/ingest/v1/invoices",
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", connection: "keep-alive" },
  });
  const reply = replyOf(sent);
  sent.end(BATCH);
  const idle = connectPlain(at.port, "127.0.0.1").on("error", () => {});
  await once(idle, "connect");
  while (slow.ingested.length === 0 && finish.toString() === "() => {}")
    await new Promise((resolve) => setTimeout(resolve, 5));
  const closed = slow.close();
  await once(connectPlain(at.port, "127.0.0.1"), "error");
  finish();
  assert.equal((await reply).status, 200);
  assert.equal((await reply).headers.connection, "close");
  await closed;
});
