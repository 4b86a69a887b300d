import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { connect as connectPlain, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { type TestContext, test } from "node:test";
import { connect as connectTls } from "node:tls";
import { pino } from "pino";
import { parseTrustedProxies } from "./client-address.ts";
import { limitConnections } from "./connection-limits.ts";
import { createListener, listen, type Tls } from "./listener.ts";
import { ensureLocalCertificate } from "./local-certificate.ts";

async function serve(t: TestContext, tls: Tls, proxies = "") {
  const refused: string[] = [];
  const lines: string[] = [];
  const destination = new Writable({
    write(line, _encoding, done) {
      lines.push(String(line));
      done();
    },
  });
  const server = limitConnections(
    createListener(tls, (_request, reply) => reply.end("ok")),
    {
      max: 2,
      trustedProxies: parseTrustedProxies(proxies),
      proxied: tls === "proxy",
      log: pino(destination),
      onRefused: (reason) => refused.push(reason),
    },
  );
  const { port, close } = await listen(server, "0.0.0.0", 0);
  t.after(close);
  return { server, port, refused, lines };
}

async function statusLine(t: TestContext, port: number, localAddress: string) {
  const socket = connectPlain({ port, host: "127.0.0.1", localAddress });
  t.after(() => socket.destroy());
  socket.on("error", () => {});
  socket.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const [text] = await once(socket, "data");
  return String(text).split("\r\n", 1)[0];
}

test("an address above its limit gets a TLS alert, and other addresses connect", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "dunlin-share-"));
  t.after(() => rm(folder, { recursive: true }));
  const { cert, key, caFile } = await ensureLocalCertificate(folder, "localhost", new Date());
  const ca = await readFile(caFile, "utf8");
  const { port, refused, lines } = await serve(t, { cert, key });
  const connect = async (localAddress: string) => {
    const plain = connectPlain({ port, host: "127.0.0.1", localAddress });
    const socket = connectTls({ socket: plain, servername: "localhost", ca });
    t.after(() => socket.destroy());
    await once(socket, "secureConnect");
    return socket;
  };
  const first = await connect("127.0.0.1");
  await connect("127.0.0.1");
  for (let n = 0; n < 2; n++) await assert.rejects(connect("127.0.0.1"), /alert access denied/);
  await connect("127.0.0.2");
  assert.deepEqual(refused, ["address", "address"]);
  assert.deepEqual(
    lines.map((line) => (({ msg, network }) => [msg, network])(JSON.parse(line))),
    [["connections.refused", "127.0.0.1"]],
  );
  first.destroy();
  await once(first, "close");
  for (let attempt = 0; ; attempt++)
    if (await connect("127.0.0.1").catch(() => attempt > 100 && assert.fail("no connection became free"))) break;
});

test("connections of a trusted proxy are not counted, and another address above its limit gets a plain reply", async (t) => {
  const { port, refused } = await serve(t, "proxy", "127.0.0.1");
  for (let n = 0; n < 4; n++) assert.equal(await statusLine(t, port, "127.0.0.1"), "HTTP/1.1 200 OK");
  for (let n = 0; n < 2; n++) assert.equal(await statusLine(t, port, "127.0.0.3"), "HTTP/1.1 200 OK");
  assert.equal(await statusLine(t, port, "127.0.0.3"), "HTTP/1.1 429 Too Many Requests");
  assert.deepEqual(refused, ["address"]);
});

test("no connection is counted when a proxy is in front and no trusted proxies are configured", async (t) => {
  const { port, refused } = await serve(t, "proxy");
  for (let n = 0; n < 4; n++) assert.equal(await statusLine(t, port, "127.0.0.1"), "HTTP/1.1 200 OK");
  assert.deepEqual(refused, []);
});

test("addresses of one IPv6 network share a limit, and those of another do not", async (t) => {
  const { server, refused } = await serve(t, "proxy", "10.0.0.1");
  const arrive = (remoteAddress: string) => {
    const socket = Object.defineProperty(new Socket(), "remoteAddress", { value: remoteAddress });
    t.after(() => socket.destroy());
    server.emit("connection", socket);
  };
  for (const host of ["1", "2", "ffff"]) arrive(`2001:db8:0:1::${host}`);
  arrive("2001:db8:0:2::1");
  assert.deepEqual(refused, ["address"]);
});
