import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { errorBody } from "./errors.ts";
import { rawReply } from "./listener.ts";

export const REQUEST_TIMEOUT_CODE = "ERR_HTTP_REQUEST_TIMEOUT";
type MalformedAnswer = [status: number, reason: string, message: string];
const NOT_HTTP: MalformedAnswer = [400, "Bad Request", "the request is not valid HTTP/1.1"];
const ANSWERS_BY_ERROR_CODE: Record<string, MalformedAnswer> = {
  HPE_HEADER_OVERFLOW: [431, "Request Header Fields Too Large", "the headers are too large"],
  [REQUEST_TIMEOUT_CODE]: [408, "Request Timeout", "the request took too long to arrive"],
};

/** The private field `_httpMessage` of a socket. */
interface PendingResponse {
  headersSent: boolean;
  req: Pick<IncomingMessage, "complete">;
  once(event: "close", listener: () => void): void;
}

/** Sockets on which a malformed request waits for the responses to earlier requests. */
const waitingSockets = new WeakSet<Socket>();

/**
 * Answers bytes that Node could not parse as a request, and closes the connection. Earlier complete requests are answered first,
 * because their data may have been stored.
 *
 * @param onAnswer  called only if an answer was written
 */
export function answerMalformed(
  error: NodeJS.ErrnoException,
  socket: Socket,
  requestId: string,
  onAnswer: (status: number, message: string) => void,
) {
  if (waitingSockets.has(socket)) return; // Node reports one error per chunk
  const { _httpMessage: pendingResponse } = socket as Socket & { _httpMessage?: PendingResponse | null };
  if (pendingResponse?.req.complete && socket.writable) {
    waitingSockets.add(socket);
    pendingResponse.once("close", () => {
      waitingSockets.delete(socket);
      answerMalformed(error, socket, requestId, onAnswer);
    });
    return;
  }
  const [status, reason, message] = ANSWERS_BY_ERROR_CODE[error.code ?? ""] ?? NOT_HTTP;
  // Writing into a response that has started would corrupt it.
  const canAnswer = socket.writable && !pendingResponse?.headersSent && error.code !== "ECONNRESET";
  if (canAnswer) socket.end(rawReply(status, reason, JSON.stringify(errorBody("other", status, message)), requestId));
  setTimeout(() => socket.destroy(), 1_000).unref();
  if (canAnswer) onAnswer(status, message);
}
