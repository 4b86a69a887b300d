import { closeSync, openSync } from "node:fs";
import { parseAllowList } from "./address-guard.ts";
import { createSender } from "./https-sender.ts";

// Sends once while no file handle is left, and again later. Prints both replies.
const [port = "", host = ""] = process.argv.slice(2);
const sender = createSender({
  allow: parseAllowList(`127.0.0.1/32:${port}`),
  extraCa: null,
  monotonicMs: () => performance.now(),
});
const send = () => sender.send({ origin: `https://${host}:${port}`, path: "/", authorization: null, body: "{}" });
// The first request opens files that stay open.
await send();
const files: number[] = [];
try {
  for (;;) files.push(openSync("/dev/null", "r"));
} catch {}
const replyWithoutFiles = await send();
for (const file of files) closeSync(file);
process.stdout.write(JSON.stringify([replyWithoutFiles, await send()]));
sender.close();
