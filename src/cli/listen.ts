import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { ensureLocalCertificate } from "../http/local-certificate.ts";
import { type Command, type CommandContext, CommandFailure, EXIT_CODES, integerOption, UsageError } from "./command.ts";
import { developmentUrlOption, LISTEN_PORT, postOnce } from "./development-endpoint.ts";

const FORWARDED_HEADERS = ["content-type", "authorization", "webhook-id", "webhook-timestamp", "webhook-signature"];

export const listen: Command = {
  name: "listen",
  usage: `--forward-to URL [--port ${LISTEN_PORT}]
  --forward-to URL  the endpoint under development; http is fine on this machine
  --port N          where to listen for webhooks, with Dunlin's local certificate`,
  summary: "Forward webhooks to an endpoint under development, and show each",
  options: { "forward-to": { type: "string" }, port: { type: "string" } },
  positionals: [],
  examples: ["npx dunlin listen --forward-to http://localhost:3000/dunlin"],
  async run(context, values) {
    const target = developmentUrlOption(values, "forward-to");
    if (!target) throw new UsageError("--forward-to is missing.");
    const { dataDir, baseUrl } = context.settings;
    const folder = join(dataDir, "tls");
    const { cert, key, caFile } = await ensureLocalCertificate(folder, new URL(baseUrl).hostname, context.realNow());
    const ca = readFileSync(caFile, "utf8");
    const server = createServer({ cert, key }, (request, response) =>
      relayRequest(context, target, ca, request, response),
    );
    server.listen(integerOption(values, "port", 0, 65_535) ?? LISTEN_PORT, "127.0.0.1");
    await once(server, "listening").catch((error: Error) => {
      throw new CommandFailure(`--port: ${error.message}`);
    });
    const { port } = server.address() as AddressInfo;
    context.print(`Listening on https://127.0.0.1:${port}, forwarding to ${target.href}   Ctrl-C stops it`);
    context.print(`  the service:  DUNLIN_WEBHOOK_ALLOW=127.0.0.1/32:${port} DUNLIN_WEBHOOK_CA=${caFile} npm start`);
    context.print(
      `  a merchant:   npx dunlin merchant set MERCHANT --webhook-url https://127.0.0.1:${port} --bearer-file webhook-token`,
    );
    context.print("  test event:   npx dunlin trigger recovery_action --bearer-file webhook-token");
    await context.stopped;
    server.closeAllConnections();
    server.close();
    return EXIT_CODES.ok;
  },
};

/** 502 without the target's answer, so that Dunlin counts a failed attempt. */
async function relayRequest(
  context: CommandContext,
  target: URL,
  ca: string,
  request: IncomingMessage,
  response: ServerResponse,
) {
  try {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const headers = Object.fromEntries(
      FORWARDED_HEADERS.flatMap((name) => {
        const value = request.headers[name];
        return typeof value === "string" ? [[name, value]] : [];
      }),
    );
    const at = context.realNow();
    const answer = await postOnce(joinPath(target, request.url ?? "/"), headers, body, ca);
    const tookMs = context.realNow().getTime() - at.getTime();
    const result = typeof answer === "string" ? `no answer: ${answer}` : `${answer.status}, ${tookMs} ms`;
    context.print(`${at.toISOString().slice(11, 19)}  ${summarizeBody(body)} → ${result}`);
    if (typeof answer === "string") return response.writeHead(502).end();
    const type = answer.headers["content-type"];
    const retryAfter = answer.headers["retry-after"];
    response.writeHead(answer.status, {
      ...(type ? { "content-type": type } : {}),
      ...(retryAfter ? { "retry-after": retryAfter } : {}),
    });
    response.end(answer.body);
  } catch {
    // The caller disconnected. Dunlin will retry.
    response.destroy();
  }
}

/** With sub-paths, Dunlin posts below the endpoint's URL. */
function joinPath(target: URL, path: string): URL {
  const url = new URL(target);
  if (path !== "/") url.pathname = url.pathname.replace(/\/$/, "") + path;
  return url;
}

/** Without characters that could move a terminal's cursor. */
function summarizeBody(body: Buffer): string {
  try {
    const { id, requestId, type = "recovery_action", data, invoiceId = data?.invoiceId } = JSON.parse(body.toString());
    const words = [type, id ?? requestId, invoiceId];
    if (words.every((word) => word !== undefined)) return words.join(" ").replace(/[\p{Cc}\p{Cf}]/gu, "·");
  } catch {
    // Not JSON: summarized below.
  }
  return `${body.length} bytes that are not an event`;
}
