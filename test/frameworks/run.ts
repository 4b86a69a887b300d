// `npm run proof -- frameworks`: tests the SDK's tarball in an empty project per framework (all, or those given), behind a
// running service.
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { packedSdk } from "../../sdk/test/packed.ts";
import { findFreePort } from "../free-port.ts";
import { createSelfSignedCertificate } from "../self-signed-certificate.ts";
import { removeAtExit } from "../test-server.ts";
import { startService } from "./dunlin-service.ts";
import { createApp, FRAMEWORKS, type Framework } from "./framework-app.ts";
import {
  checkDocumentedAnswers,
  checkHandlesEachOnce,
  checkReceivesAllEvents,
  createSender,
} from "./framework-checks.ts";

const SEED = 1;

const given = process.argv.slice(2);
const chosenFrameworks = given.length > 0 ? FRAMEWORKS.filter((name) => given.includes(name)) : FRAMEWORKS;
if (!existsSync(join(import.meta.dirname, "node_modules"))) {
  console.error('The frameworks are missing: "npm install --prefix test/frameworks" installs them.');
  process.exit(1);
}
// Inside this folder, so that the apps find the frameworks. Each has its own copy of the SDK.
mkdirSync(join(import.meta.dirname, "projects"), { recursive: true });
const folder = mkdtempSync(join(import.meta.dirname, "projects", "run-"));
removeAtExit(folder);
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => process.exit(1));

const packed = packedSdk();
const tls = await createSelfSignedCertificate();
const caPath = join(folder, "endpoint-ca.pem");
writeFileSync(caPath, tls.cert);
const port = await findFreePort();
const service = await startService(folder, await findFreePort(), port, caPath);
try {
  for (const framework of chosenFrameworks) await testFramework(framework);
} finally {
  await service.stop();
  rmSync(packed.folder, { recursive: true, force: true });
}

async function testFramework(framework: Framework) {
  const token = randomBytes(24).toString("base64url");
  const { merchantId, apiKey } = service.dunlin(
    ...[
      "merchant",
      "create",
      "--name",
      framework,
      "--webhook-url",
      `https://127.0.0.1:${port}/dunlin`,
      "--bearer",
      token,
    ],
    // The whole window lies within the lead, so an instruction is sent as soon as its invoice is unpaid.
    ...["--window-days", "1", "--lead-minutes", "1440"],
  );
  const { secret } = service.dunlin("webhook", "secret", "rotate", merchantId);
  const settings = { port, token, secret };
  const app = createApp(framework, packed.tarball, folder, tls, settings);
  const client = service.client(apiKey);
  const posts = createSender(app, settings, tls.cert);
  await app.start();
  try {
    await checkReceivesAllEvents(app, client);
    await checkDocumentedAnswers(app, posts);
    const begunMs = performance.now();
    const { acknowledged, cut } = await checkHandlesEachOnce(app, posts, SEED);
    const seconds = ((performance.now() - begunMs) / 1000).toFixed(0);
    console.log(
      `${framework.padEnd(8)} three events of the service handled; the table of errors answered; ${acknowledged} deliveries, ${cut} cut off by crashes, each event handled once (${seconds} s)`,
    );
  } finally {
    posts.close();
    client.close();
    await app.stop();
  }
}
