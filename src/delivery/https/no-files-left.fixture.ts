import { closeSync, openSync } from "node:fs";
import { parseAllowList } from "./address-guard.ts";
import { createSender } from "./https-sender.ts";

// A program that sends while it has no file left, and again once it has. It prints both replies.
const [port = "", host = ""] = process.argv.slice(2);
const sender = createSender({
  allow: parseAllowList(`127.0.0.1/32:${port}`),
  extraCa: null,
  monotonicMs: () => performance.now(),
});
const send = () => sender.send({ origin: `https://${host}:${port}`, path: "/", authorization: null, body: "{}" });
// What is opened the first time and kept: of the name server's settings, too.
await send();
const files: number[] = [];
try {
  for (;;) files.push(openSync("/dev/null", "r"));
} catch {
  // None is left.
}
const replyWithoutFiles = await send();
for (const file of files) closeSync(file);
process.stdout.write(JSON.stringify([replyWithoutFiles, await send()]));
sender.close();
