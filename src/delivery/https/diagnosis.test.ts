import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { after, suite, test } from "node:test";
import { createSelfSignedCertificate } from "../../../test/self-signed-certificate.ts";
import { parseAllowList } from "./address-guard.ts";
import { startTrace } from "./attempt-trace.ts";
import { diagnose } from "./diagnosis.ts";
import { createResolver } from "./dns-lookup.ts";
import { startDnsServer } from "./dns-server.fixture.ts";
import { createSender, type SenderOptions } from "./https-sender.ts";
import { startRawReceiver, startReceiver } from "./receiver.fixture.ts";
import { LIMITS, WHOLE_REPLY } from "./single-attempt.fixture.ts";

const closers: (() => unknown)[] = [];
after(() => Promise.all(closers.map((close) => close())));
const monotonicMs = () => performance.now();
/** Creating a sender takes up to 100 ms on a busy machine, which is not the endpoint's time. */
const PATIENT = { ...LIMITS, replyMs: 5_000 };
const NOW = new Date("2026-11-21T12:00:00Z");

/** Makes one traced attempt and diagnoses it. */
async function diagnoseAttempt(
  origin: string,
  options: Pick<SenderOptions, "allow" | "extraCa"> & Partial<SenderOptions>,
  totalMs?: number,
) {
  const sender = createSender({ monotonicMs, limits: PATIENT, ...options });
  const trace = startTrace(monotonicMs);
  const startedMs = monotonicMs();
  const reply = await sender.send({ origin, path: "/hook", authorization: "Bearer tok", body: '{"a":1}', trace });
  const traceResult = trace.result();
  sender.close();
  return { seen: traceResult, ...diagnose(reply, traceResult, totalMs ?? monotonicMs() - startedMs, NOW) };
}

async function diagnoseReply(text: string) {
  const receiver = await startRawReceiver((socket) => void socket.write(text));
  closers.push(receiver.close);
  return receiver;
}
const reply = (status: string, body = "", fields = "") =>
  `HTTP/1.1 ${status}\r\n${fields}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

test("a good endpoint has no problem, and its exchange is shown exactly", async () => {
  const text = `HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n${reply("200 OK", '{"success":true}', "X-Odd:  yes\r\n")}`;
  const receiver = await diagnoseReply(text);
  const { fine, problem, notes, seen } = await diagnoseAttempt(receiver.origin, {
    allow: receiver.allow,
    extraCa: receiver.ca,
  });
  assert.deepEqual([fine, problem, notes], [true, null, []]);
  assert.match(seen.sent, /^POST \/hook HTTP\/1\.1\r\nhost: 127\.0\.0\.1:\d+\r\n/);
  assert.match(seen.sent, /\r\nauthorization: Bearer tok\r\n/);
  assert.match(seen.sent, /\r\n\r\n\{"a":1\}$/);
  assert.equal(seen.head + seen.body, text);
  assert.deepEqual(seen.addresses, ["127.0.0.1"]);
  assert.equal(seen.lookUpMs, null, "an address needs no lookup");
  assert.ok(seen.connectMs! <= seen.tlsMs! && seen.tlsMs! <= seen.firstByteMs!);
  assert.match(seen.protocol ?? "", /^TLSv1\.[23]$/);
  assert.equal(seen.certificate?.subject, "CN=server of a test");
});

test("a successful reply of 10 KB is shown with its first 4 KiB, without chunk framing", async () => {
  const receiver = await startReceiver((_request, response) => {
    response.writeHead(200, { "content-type": "text/plain" });
    response.write("x".repeat(5_000));
    response.end("y".repeat(5_000));
  });
  closers.push(receiver.close);
  const { seen } = await diagnoseAttempt(receiver.origin, { allow: receiver.allow, extraCa: receiver.ca });
  assert.equal(seen.body, "x".repeat(4_096));
});

const STATUSES: [status: string, words: RegExp, fields?: string][] = [
  [
    "301 Moved",
    /redirect to https:\/\/other\.example\/x\. Dunlin does not follow redirects/,
    "Location: https://other.example/x\r\n",
  ],
  ["307 Elsewhere", /redirect\. Dunlin does not follow/],
  ["401 Who", /401: the endpoint refuses the credential/],
  ["403 No", /403: .*forbids/],
  ["404 Where", /404: .*path/],
  ["405 What", /405: .*POST/],
  ["410 Gone", /removed for good/],
  ["415 x", /application\/json/],
  ["418 x", /418: the endpoint rejected the event/],
  ["429 x", /too many requests/],
  ["500 x", /500: the endpoint failed/],
  ["599 x", /599: the endpoint failed/],
];

suite("the problem of an endpoint is named", () => {
  for (const [status, words, fields] of STATUSES)
    test(`the problem is named when the status is ${status}`, async () => {
      const receiver = await diagnoseReply(reply(status, "", fields));
      const { fine, problem } = await diagnoseAttempt(receiver.origin, { allow: receiver.allow, extraCa: receiver.ca });
      assert.ok(!fine);
      assert.match(problem ?? "", words);
    });

  const HANGING: [string, string, RegExp][] = [
    ["stays silent", "", /no status line within 5 s: the request was sent, but no reply came/],
    ["stops in the status line", "HTTP/1.1 2", /the reply started, but its status line did not end/],
  ];
  for (const [name, text, words] of HANGING)
    test(`the problem of an endpoint that ${name} is named`, async () => {
      const receiver = await diagnoseReply(text);
      const { fine, problem } = await diagnoseAttempt(receiver.origin, { allow: receiver.allow, extraCa: receiver.ca });
      assert.ok(!fine);
      assert.match(problem ?? "", words);
    });

  test("the problem of a host name is named when it does not exist, is not answered, or resolves to a refused address", async () => {
    const names = await startDnsServer(({ name, type }) => {
      if (name.startsWith("none")) return { code: 3 };
      if (name.startsWith("broken")) return { code: 2 };
      if (name.startsWith("silent")) return undefined;
      return type === "A" ? { records: ["A 10.0.0.1"] } : {};
    });
    closers.push(names.close);
    const resolve = createResolver({ hostsFile: "/nonexistent", servers: names.servers, timeoutMs: 400, attempts: 2 });
    const options = { allow: [], extraCa: null, resolve };
    for (const [name, words] of [
      ["none", /^DNS: the host name does not exist/],
      ["broken", /^DNS: no name server answers/],
      ["silent", /no name server answer/],
      ["private", /^DNS or URL: private\.example resolves to a refused address: 10\.0\.0\.1 .*DUNLIN_WEBHOOK_ALLOW/],
    ] as const) {
      const { fine, problem, seen } = await diagnoseAttempt(`https://${name}.example`, options);
      assert.ok(!fine);
      assert.match(problem ?? "", words, name);
      assert.deepEqual(seen.addresses, []);
    }
    const literal = await diagnoseAttempt("https://169.254.169.254", options);
    assert.match(literal.problem ?? "", /^DNS or URL: 169\.254\.169\.254 port 443 is not a public address/);
  });

  test("the problem is named when nothing listens on the port, or plain HTTP", async () => {
    const server = createServer((socket) => {
      socket.on("error", () => {}).resume();
      socket.end("HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const options = { allow: parseAllowList(`127.0.0.1/32:${port}`), extraCa: null };
    assert.match((await diagnoseAttempt(`https://127.0.0.1:${port}`, options)).problem ?? "", /does not speak TLS/);
    server.close();
    await once(server, "close");
    assert.match((await diagnoseAttempt(`https://127.0.0.1:${port}`, options)).problem ?? "", /nothing listens/);
  });

  test("a certificate is shown with its problem when it is self-signed, expired, not valid yet or for another name", async () => {
    const expired = await createSelfSignedCertificate(new Date("2020-01-01"), new Date("2020-02-01"));
    const early = await createSelfSignedCertificate(new Date("2099-01-01"), new Date("2099-02-01"));
    const good = await createSelfSignedCertificate();
    const resolve = async () => [{ address: "127.0.0.1", family: 4 }];
    for (const [id, extraCa, name, words] of [
      [good, null, "127.0.0.1", /^TLS: the certificate is self-signed/],
      [expired, expired.cert, "127.0.0.1", /^TLS: the certificate expired on 2020-02-01/],
      [early, early.cert, "127.0.0.1", /^TLS: the certificate is not valid yet \(valid from 2099-01-01\)/],
      [
        good,
        good.cert,
        "other.example",
        /^TLS: the certificate is for another host name \(DNS:localhost, DNS:merchant\.example/,
      ],
    ] as const) {
      const receiver = await startRawReceiver((socket) => void socket.write(WHOLE_REPLY), id);
      closers.push(receiver.close);
      const { fine, problem, seen } = await diagnoseAttempt(`https://${name}:${receiver.port}`, {
        allow: receiver.allow,
        extraCa,
        resolve,
      });
      assert.ok(!fine);
      assert.match(problem ?? "", words);
      assert.equal(seen.certificate?.subject, "CN=server of a test");
      assert.equal(seen.sent, "", "nothing is sent before the certificate is verified");
    }
  });
});

test("a note is added when the reply is no JSON, says success: false or is slow, or the certificate expires soon", async () => {
  const page = await diagnoseReply(reply("200 OK", "<p>hello</p>", "Content-Type: text/html\r\n"));
  const html = await diagnoseAttempt(page.origin, { allow: page.allow, extraCa: page.ca });
  assert.ok(html.fine);
  assert.match(html.notes[0] ?? "", /not JSON but text\/html/);
  const denial = await diagnoseReply(reply("200 OK", '{"success":false,"message":"no"}'));
  assert.match(
    (await diagnoseAttempt(denial.origin, { allow: denial.allow, extraCa: denial.ca })).notes[0] ?? "",
    /success: false/,
  );
  const slow = await diagnoseReply(reply("204 No Content"));
  const late = await diagnoseAttempt(slow.origin, { allow: slow.allow, extraCa: slow.ca }, 12_345);
  assert.ok(late.fine);
  assert.match(late.notes[0] ?? "", /12\.3 s of the allowed 30 s/);
  const { seen } = late;
  const expiringSoon = { ...seen, certificate: { ...seen.certificate!, validTo: new Date("2026-11-25T00:00:00Z") } };
  const response = { outcome: "response", status: 200, retryAfter: null, text: null } as const;
  assert.match(diagnose(response, expiringSoon, 1, NOW).notes[0] ?? "", /expires in 3 days, on 2026-11-25/);
});
