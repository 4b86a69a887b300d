import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { after, before, test } from "node:test";
import type { Merchant, WebhookAuth } from "../domain/merchant.ts";
import { seal } from "../tables/secret-box.ts";
import { realPorts, SECRET_KEYS, START } from "./deliverer.fixture.ts";
import { createSender, type Sender } from "./https/https-sender.ts";
import { type Receiver, type Request, startRawReceiver, startReceiver } from "./https/receiver.fixture.ts";
import { createTarget, sendAttempt } from "./send-attempt.ts";

/** Credentials with characters that encoders treat specially: slashes, pluses, quotes, ampersands, non-ASCII letters. */
const CREDENTIALS: [WebhookAuth, string][] = [
  ["bearer", "tok/en+with/slashes==and&amp<more>"],
  ["bearer", `q"uo'te\\back`],
  ["bearer", "plain-token-1234567890"],
  ["basic", "merchant:schlüssel/öl&\"x\"'y'"],
  ["basic", "user:pass:with:colons and spaces"],
];

type Echo = (request: Request) => string;
const authorization = (request: Request) => String(request.headers.authorization);
const credentialPart = (request: Request) => authorization(request).replace(/^\w+ /, "");
/** The secret parts of the header: the token, or user and password. */
const decodedCredential = (request: Request) =>
  authorization(request).startsWith("Basic")
    ? Buffer.from(credentialPart(request), "base64").toString()
    : credentialPart(request);
const password = (request: Request) => decodedCredential(request).replace(/^merchant:|^user:/, "");

const ECHOES: [name: string, echo: Echo][] = [
  ["the header", authorization],
  ["all headers as JSON", (request) => JSON.stringify(request.headers)],
  ["all headers as JSON with escaped slashes", (request) => JSON.stringify(request.headers).replaceAll("/", "\\/")],
  ["the credential", decodedCredential],
  ["the password", password],
  ["the credential as JSON", (request) => JSON.stringify({ got: decodedCredential(request) })],
  [
    "the credential as JSON in ASCII",
    (request) =>
      JSON.stringify({ got: decodedCredential(request) }).replace(
        /[^\0-\x7f]/g,
        (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
      ),
  ],
  [
    "the credential as JSON with escaped slashes",
    (request) => JSON.stringify(decodedCredential(request)).replaceAll("/", "\\/"),
  ],
  ["the credential in a URL", (request) => `/login?token=${encodeURIComponent(decodedCredential(request))}`],
  ["the credential in a form", (request) => new URLSearchParams({ token: decodedCredential(request) }).toString()],
  ["the credential in a page", (request) => page(decodedCredential(request))],
  ["the credential in base64", (request) => Buffer.from(decodedCredential(request)).toString("base64")],
  ["the credential in base64 for URLs", (request) => Buffer.from(decodedCredential(request)).toString("base64url")],
  ["the credential in hexadecimal", (request) => Buffer.from(decodedCredential(request)).toString("hex")],
  ["the header over and over", (request) => authorization(request).repeat(400)],
  [
    "the header behind other text, cut by the end of what is kept",
    (request) => "x".repeat(4_080) + authorization(request),
  ],
];
const page = (text: string) =>
  `<p>${text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;").replaceAll("'", "&#39;")}</p>`;

let receiver: Receiver;
let sender: Sender;
let echo: Echo = () => "";
let status = 500;
before(async () => {
  receiver = await startReceiver((request, reply) => reply.writeHead(status).end(echo(request)));
  sender = createSender({ allow: receiver.allow, extraCa: receiver.ca, monotonicMs: () => performance.now() });
});
const closers: (() => unknown)[] = [];
after(() => Promise.all([sender.close(), receiver.close(), ...closers.map((close) => close())]));

async function recordAttempt(auth: WebhookAuth, secret: string, origin = receiver.origin, send = sender.send) {
  const webhookCredential = seal(SECRET_KEYS, randomBytes(12), secret);
  const id = randomUUID();
  const merchant = {
    id,
    bucket: 0,
    webhookUrl: `${origin}/hook`,
    webhookAuth: auth,
    webhookCredential,
    webhookSecret: null,
  } as Merchant;
  const delivery = {
    eventId: randomUUID(),
    caseId: randomUUID(),
    type: "recovery_action" as const,
    body: "{}",
    round: 1,
    attempts: 0,
    attemptsMax: 6,
    dueMs: START.getTime(),
    traceparent: null,
  };
  const attempt = await sendAttempt(merchant, createTarget(merchant, SECRET_KEYS)!, delivery, 1, send, realPorts);
  assert.ok(!("unsent" in attempt));
  return attempt;
}

for (const [name, form] of ECHOES)
  test(`the log shows no credential when a receiver echoes ${name}`, async () => {
    echo = form;
    for (const [auth, secret] of CREDENTIALS)
      for (status of [401, 500]) {
        const { response, error } = await recordAttempt(auth, secret);
        const stored = `${response} ${error}`;
        assert.match(stored, /\[redacted\]/, stored.slice(-200));
        const parts = [secret, secret.slice(secret.indexOf(":") + 1)];
        for (const part of parts.flatMap((each) => [
          each,
          Buffer.from(each).toString("base64"),
          page(each).slice(3, -4),
        ]))
          assert.ok(!stored.includes(part.slice(0, 12)), `${secret}: ${stored.slice(-200)}`);
      }
  });

test("the reply to a success is not stored", async () => {
  status = 200;
  echo = authorization;
  assert.equal((await recordAttempt("bearer", "plain-token-1234567890")).response, null);
});

test("errors about a broken reply or connection contain no credential", async () => {
  const replies = ["HTTP/1.1 2xx {}\r\n\r\n", "{} HTTP/1.1 200\r\n\r\n", "HTTP/1.1 400 {}\r\n{}: {}\r\n\r\n", "{}"];
  for (const text of replies) {
    const raw = await startRawReceiver((socket) => socket.end(text.replaceAll("{}", "plain-token-1234567890")));
    const ownSender = createSender({ allow: raw.allow, extraCa: raw.ca, monotonicMs: () => performance.now() });
    closers.push(ownSender.close, raw.close);
    const attempt = await recordAttempt("bearer", "plain-token-1234567890", raw.origin, ownSender.send);
    assert.doesNotMatch(JSON.stringify(attempt), /plain-token/);
  }
});
