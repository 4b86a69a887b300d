import assert from "node:assert/strict";
import { once } from "node:events";
import https from "node:https";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import type { TLSSocket } from "node:tls";
import { type Identity, selfSigned } from "../../../test/certificate.ts";
import { parseAllow } from "./address-guard.ts";
import { localIdentity } from "./receiver.fixture.ts";
import { createSender, type SenderOptions } from "./send.ts";

let ours: Identity;
let stranger: Identity;
let server: https.Server;
const seen: string[] = [];

before(async () => {
  [ours, stranger] = await Promise.all([selfSigned(), selfSigned()]);
  const own = await localIdentity();
  server = https.createServer(
    { ...own, ca: ours.cert, requestCert: true, rejectUnauthorized: true },
    (request, reply) => {
      seen.push((request.socket as TLSSocket).getPeerX509Certificate()!.fingerprint256);
      reply.end();
    },
  );
  server.on("tlsClientError", () => {});
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});
after(() => {
  server.closeAllConnections();
  server.close();
});

async function post(over: Partial<SenderOptions>, times = 1) {
  const { port } = server.address() as AddressInfo;
  const allow = parseAllow(`127.0.0.1/32:${port}`);
  const extraCa = (await localIdentity()).cert;
  const sender = createSender({ allow, extraCa, monotonicMs: () => performance.now(), ...over });
  const replies = [];
  for (let i = 0; i < times; i++)
    replies.push(
      await sender.send({ origin: `https://127.0.0.1:${port}`, path: "/", authorization: null, body: "{}" }),
    );
  const { made } = sender.connections();
  sender.close();
  return { replies, made };
}

test("an endpoint that demands a client certificate is shown it, once for a connection that is kept", async () => {
  seen.length = 0;
  const { replies, made } = await post({ clientCertificate: ours }, 3);
  assert.deepEqual(
    replies.map((reply) => reply.outcome === "response" && reply.status),
    [200, 200, 200],
  );
  assert.deepEqual([made, seen.length, new Set(seen).size], [1, 3, 1]);
});

for (const [name, clientCertificate] of [
  ["no certificate", () => null],
  ["another certificate", () => stranger],
] as const)
  test(`an endpoint that demands a client certificate and gets ${name} is a failed attempt`, async () => {
    seen.length = 0;
    const { replies } = await post({ clientCertificate: clientCertificate() });
    const [reply] = replies;
    assert.match(reply?.outcome === "failed" ? reply.error : "", /closed|reset|alert/i);
    assert.equal(seen.length, 0);
  });
