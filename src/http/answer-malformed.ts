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

/** The answer that Node writes next to a connection. Node offers no public way to ask for it. */
interface PendingResponse {
  headersSent: boolean;
  req: Pick<IncomingMessage, "complete">;
  once(event: "close", listener: () => void): void;
}

/** Connections on which an unreadable request waits for the answers to those before it. */
const waitingSockets = new WeakSet<Socket>();

/**
 * Answers bytes that never became a request, and closes the connection. Requests that arrived complete before them are
 * answered first: they may have been stored.
 *
 * @param onAnswer  called with the answer; not called when the connection takes no answer
 */
export function answerMalformed(
  error: NodeJS.ErrnoException,
  socket: Socket,
  requestId: string,
  onAnswer: (status: number, message: string) => void,
) {
  if (waitingSockets.has(socket)) return; // each further piece of garbage is an error of its own
  const { _httpMessage: answering } = socket as Socket & { _httpMessage?: PendingResponse | null };
  if (answering?.req.complete && socket.writable) {
    waitingSockets.add(socket);
    answering.once("close", () => {
      waitingSockets.delete(socket);
      answerMalformed(error, socket, requestId, onAnswer);
    });
    return;
  }
  const [status, reason, message] = ANSWERS_BY_ERROR_CODE[error.code ?? ""] ?? NOT_HTTP;
  // Writing into an answer that is under way would garble it.
  const canAnswer = socket.writable && !answering?.headersSent && error.code !== "ECONNRESET";
  if (canAnswer) socket.end(rawReply(status, reason, JSON.stringify(errorBody("other", status, message)), requestId));
  setTimeout(() => socket.destroy(), 1_000).unref();
  if (canAnswer) onAnswer(status, message);
}
