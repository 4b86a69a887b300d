import assert from "node:assert/strict";
import { once } from "node:events";
import https from "node:https";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import type { TLSSocket } from "node:tls";
import { type CertifiedIdentity, createSelfSignedCertificate } from "../../../test/self-signed-certificate.ts";
import { parseAllowList } from "./address-guard.ts";
import { createSender, type SenderOptions } from "./https-sender.ts";
import { localIdentity } from "./receiver.fixture.ts";

let ownIdentity: CertifiedIdentity;
let unknownIdentity: CertifiedIdentity;
let server: https.Server;
const seenSubjects: string[] = [];

before(async () => {
  [ownIdentity, unknownIdentity] = await Promise.all([createSelfSignedCertificate(), createSelfSignedCertificate()]);
  const own = await localIdentity();
  server = https.createServer(
    { ...own, ca: ownIdentity.cert, requestCert: true, rejectUnauthorized: true },
    (request, reply) => {
      seenSubjects.push((request.socket as TLSSocket).getPeerX509Certificate()!.fingerprint256);
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

async function post(overrides: Partial<SenderOptions>, times = 1) {
  const { port } = server.address() as AddressInfo;
  const allow = parseAllowList(`127.0.0.1/32:${port}`);
  const extraCa = (await localIdentity()).cert;
  const sender = createSender({ allow, extraCa, monotonicMs: () => performance.now(), ...overrides });
  const replies = [];
  for (let i = 0; i < times; i++)
    replies.push(
      await sender.send({ origin: `https://127.0.0.1:${port}`, path: "/", authorization: null, body: "{}" }),
    );
  const { made } = sender.connections();
  sender.close();
  return { replies, made };
}

test("a client certificate is sent to an endpoint that demands it, once per kept connection", async () => {
  seenSubjects.length = 0;
  const { replies, made } = await post({ clientCertificate: ownIdentity }, 3);
  assert.deepEqual(
    replies.map((reply) => reply.outcome === "response" && reply.status),
    [200, 200, 200],
  );
  assert.deepEqual([made, seenSubjects.length, new Set(seenSubjects).size], [1, 3, 1]);
});

for (const [name, clientCertificate] of [
  ["no certificate", () => null],
  ["another certificate", () => unknownIdentity],
] as const)
  test(`an attempt fails when the endpoint demands a client certificate and gets ${name}`, async () => {
    seenSubjects.length = 0;
    const { replies } = await post({ clientCertificate: clientCertificate() });
    const [reply] = replies;
    assert.match(reply?.outcome === "failed" ? reply.error : "", /closed|reset|alert/i);
    assert.equal(seenSubjects.length, 0);
  });
