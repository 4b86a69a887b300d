import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";

// Node has one time limit for all requests of a server, so exceptions are tracked here.
const slowBodySockets = new WeakSet<Socket>();

/** Includes the time to store received rows. */
const BODY_IDLE_MS = 60_000;

/** Exempts this body from the listener's time limit, unless the connection becomes idle. */
export function allowSlowBody(request: IncomingMessage) {
  const { socket } = request;
  slowBodySockets.add(socket);
  request.once("close", () => slowBodySockets.delete(socket));
  socket.setTimeout(BODY_IDLE_MS);
}

export const isSlowBodyAllowed = (socket: Socket) => slowBodySockets.has(socket);
