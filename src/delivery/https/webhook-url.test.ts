import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { after, before, test } from "node:test";
import { findWebhookUrlProblem, parseAllowList } from "./address-guard.ts";
import { LOCAL_HOSTS, PRIVATE_HOSTS, splitWords } from "./addresses.fixture.ts";
import { createResolver } from "./dns-lookup.ts";
import { type ForbiddenListener, startForbiddenListener } from "./forbidden-listener.fixture.ts";
import { createSender, type Sender } from "./https-sender.ts";
import { startReceiver } from "./receiver.fixture.ts";

// A URL that passes the check when saved still meets the guard when dialed, so each one is tested both ways.
let forbidden: ForbiddenListener;
let sender: Sender;
const closers: (() => unknown)[] = [];
before(async () => {
  forbidden = await startForbiddenListener();
  // No name server answers, so only names that this machine resolves itself are known.
  const resolve = createResolver({ hostsFile: "/etc/hosts", servers: ["127.0.0.1:9"], timeoutMs: 100, attempts: 1 });
  sender = createSender({ allow: [], extraCa: null, resolve, monotonicMs: () => performance.now() });
});
after(() => Promise.all([forbidden.close(), sender.close(), ...closers.map((close) => close())]));

/** Skips the check when saving, as if the URL had reached the database in another way. */
async function connectTo(url: string) {
  if (!URL.canParse(url)) return;
  const { origin, protocol } = new URL(url);
  if (protocol !== "https:") return;
  const reply = await sender.send({ origin, path: "/", authorization: null, body: "{}" });
  assert.equal(reply.outcome, "failed", url);
}

test(`this machine in ${LOCAL_HOSTS.length} spellings is refused when saved and when dialed`, async () => {
  for (const host of LOCAL_HOSTS) {
    const url = `https://${host}:${forbidden.port}/hook`;
    assert.notEqual(findWebhookUrlProblem(url, []), null, url);
    await connectTo(url);
  }
  assert.equal(forbidden.reached(), 0);
});

test(`${PRIVATE_HOSTS.length} hosts of other networks are refused when saved and when dialed`, async () => {
  for (const host of PRIVATE_HOSTS) {
    const url = `https://${host}/latest/meta-data`;
    assert.notEqual(findWebhookUrlProblem(url, []), null, url);
    await connectTo(url);
  }
});

test("user names, unusual separators and unusual ports do not hide another host", async () => {
  const port = forbidden.port;
  const urls = [
    ...splitWords(`https://example.com@127.0.0.1:${port}/ https://example.com:443@127.0.0.1:${port}/ https://user:pass@127.0.0.1:${port}/ https://:@127.0.0.1:${port}/
      https://@127.0.0.1:${port}/ https://example.com%2f@127.0.0.1:${port}/ https://example.com%00@127.0.0.1:${port}/ https://127.0.0.1:${port}@example.com/
      https://a@b@127.0.0.1:${port}/ https://example.com#@127.0.0.1:99999/ https:127.0.0.1:${port} https:/127.0.0.1:${port} https:///127.0.0.1:${port}
      https:////127.0.0.1:${port} //127.0.0.1:${port} 127.0.0.1:${port} http://127.0.0.1:${port} HTTP://127.0.0.1:${port} wss://127.0.0.1:${port}
      https://127.0.0.1:0${port}/ https://127.0.0.1:${port}/../.. https://127.0.0.1:65536/ https://127.0.0.1:-1/ https://127.0.0.1:/ https://127.0.0.1:443x/
      https://example.com:0/ https://example.com:65536/ https://[::1]${port}/ https://[::1]:${port}:1/ https://[::1%25lo]:${port}/ https://[::1%lo]:${port}/
      https://[fe80::1%25eth0]/ https://[127.0.0.1]:${port}/ https://[::ffff:127.1]:${port}/ https://[::1/ https://::1:${port}/ https://127.0.0.1.:${port}./
      https://256.1.1.1/ https://1.2.3.4.5/ https://0x1ffffffff/ https://4294967296/ https://0400.0.0.1/ https://127.0.0.256/ https://a..b/ https://.a/ https://a../
      https://${"a".repeat(64)}.example/ https://${"a.".repeat(127)}a/ blob:https://127.0.0.1:${port}/x gopher://127.0.0.1:${port}/ file://127.0.0.1/etc/passwd`),
    `https://127.0.0.1:${port}\\@example.com/`,
    `https://example.com\\@127.0.0.1:${port}/`,
    `https:\\\\127.0.0.1:${port}\\`,
    `https://127.0.0.1\t:${port}/`,
    `\thttps://127.0.0.1:${port}/`,
    `https://exam\r\nple.com/`,
    `https://example.com/\u0000`,
    `https://example.com /`,
    `https://127.0.0.1\u00a0/`,
    `https://127.0.0.1\u3000:${port}/`,
  ];
  const accepted = urls.filter((url) => findWebhookUrlProblem(url, []) === null);
  // The fragment is not part of the host, whatever it contains.
  assert.deepEqual(accepted, ["https://example.com#@127.0.0.1:99999/"]);
  for (const url of urls) if (!accepted.includes(url)) await connectTo(url);
  assert.equal(forbidden.reached(), 0);
});

test("a private network name is accepted when the operator allows an address on its port", () => {
  const allow = parseAllowList("10.0.0.0/8:8443");
  assert.equal(findWebhookUrlProblem("https://billing.internal:8443/", allow), null);
  assert.match(findWebhookUrlProblem("https://billing.internal/", allow) ?? "", /private network name/);
  assert.equal(findWebhookUrlProblem("https://internal.example.com/", []), null);
  assert.equal(findWebhookUrlProblem("https://local.shop/", []), null);
});

test("a redirect to a forbidden address is not followed, with any status and spelling", async () => {
  const hosts = splitWords("127.0.0.1 localhost [::1] 2130706433 [::ffff:7f00:1] 0x7f.1");
  let location = "";
  let status = 0;
  const receiver = await startReceiver((_request, reply) => {
    const refresh = `0; url=${location}`;
    reply.writeHead(status, { location, refresh, "content-location": location, "alt-svc": `h2="${location}"` }).end();
  });
  const { allow, ca: extraCa } = receiver;
  const own = createSender({ allow, extraCa, monotonicMs: () => performance.now() });
  closers.push(own.close, receiver.close);
  for (status of [201, 300, 301, 302, 303, 304, 305, 307, 308, 401, 421])
    for (const host of hosts) {
      location = `https://${host}:${forbidden.port}/`;
      const reply = await own.send({ origin: receiver.origin, path: "/", authorization: null, body: "{}" });
      assert.equal(reply.outcome === "response" && reply.status, status);
    }
  assert.equal(forbidden.reached(), 0);
});

test("proxy settings in the environment are not used", async () => {
  const receiver = await startReceiver((_request, reply) => reply.end());
  closers.push(receiver.close);
  const proxy = `http://127.0.0.1:${forbidden.port}`;
  const names = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];
  const environment = { ...Object.fromEntries(names.map((name) => [name, proxy])), NODE_USE_ENV_PROXY: "1" };
  const script = `
    import { parseAllowList } from "${import.meta.resolve("./address-guard.ts")}";
    import { createSender } from "${import.meta.resolve("./https-sender.ts")}";
    const sender = createSender({ allow: parseAllowList("127.0.0.1/32:${receiver.port}"), extraCa: process.env.CA, monotonicMs: () => performance.now() });
    const reply = await sender.send({ origin: "${receiver.origin}", path: "/", authorization: null, body: "{}" });
    sender.close();
    process.stdout.write(reply.outcome === "response" ? String(reply.status) : reply.error);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    env: { ...process.env, ...environment, CA: receiver.ca },
  });
  let out = "";
  child.stdout.on("data", (chunk) => {
    out += chunk;
  });
  await once(child, "close");
  assert.equal(out, "200");
  assert.equal(forbidden.reached(), 0);
});
