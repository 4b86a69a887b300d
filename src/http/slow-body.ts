import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";

// Node has one limit for all requests of a server.
const slowBodySockets = new WeakSet<Socket>();

/** For so long nothing may come, nor go: storing what came takes a part of it. */
const BODY_IDLE_MS = 60_000;

/** From here on this body may take longer than the listener allows, as long as there is always more of it. */
export function allowSlowBody(request: IncomingMessage) {
  const { socket } = request;
  slowBodySockets.add(socket);
  request.once("close", () => slowBodySockets.delete(socket));
  socket.setTimeout(BODY_IDLE_MS);
}

export const isSlowBodyAllowed = (socket: Socket) => slowBodySockets.has(socket);
