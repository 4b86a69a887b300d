import type { Logger as Log } from "pino";
import { errorBody } from "../http/errors.ts";
import { createListener, listen, type Tls } from "../http/listener.ts";

const RETRY_AFTER_S = 5;

/** While the database is unavailable: 200 for `/healthz`, because the process is alive, and 503 otherwise. */
export async function startUnavailableServer(tls: Tls, host: string, port: number, log: Log) {
  const server = createListener(tls, (request, reply) => {
    request.resume();
    const isAlive = request.method === "GET" && request.url === "/healthz";
    const body = isAlive ? { status: "ok" } : errorBody("other", 503, "not ready: the database is out of reach");
    reply.writeHead(isAlive ? 200 : 503, {
      "content-type": "application/json",
      connection: "close",
      ...(!isAlive && { "retry-after": String(RETRY_AFTER_S) }),
    });
    reply.end(`${JSON.stringify(body)}\n`);
  });
  server.on("tlsClientError", () => {});
  server.on("clientError", (_error, socket) => socket.destroy());
  const { port: bound, close } = await listen(server, host, port);
  log.info({ host, port: bound }, "service.waiting_room");
  return { port: bound, close };
}
