import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { errorBody } from "./errors.ts";
import { rawReply } from "./listener.ts";

export const TOO_SLOW = "ERR_HTTP_REQUEST_TIMEOUT";
type Unreadable = [status: number, reason: string, message: string];
const NOT_HTTP: Unreadable = [400, "Bad Request", "the request is not valid HTTP/1.1"];
const UNREADABLE: Record<string, Unreadable> = {
  HPE_HEADER_OVERFLOW: [431, "Request Header Fields Too Large", "the headers are too large"],
  [TOO_SLOW]: [408, "Request Timeout", "the request took too long to arrive"],
};

/** The answer that Node writes next to a connection. Node offers no public way to ask for it. */
interface Answering {
  headersSent: boolean;
  req: Pick<IncomingMessage, "complete">;
  once(event: "close", listener: () => void): void;
}

/** Connections on which an unreadable request waits for the answers to those before it. */
const waiting = new WeakSet<Socket>();

/**
 * Answers bytes that never became a request, and closes the connection. Requests that arrived complete before them are
 * answered first: they may have been stored.
 *
 * @param onAnswer  called with the answer; not called when the connection takes no answer
 */
export function answerUnreadable(
  error: NodeJS.ErrnoException,
  socket: Socket,
  requestId: string,
  onAnswer: (status: number, message: string) => void,
) {
  if (waiting.has(socket)) return; // each further piece of garbage is an error of its own
  const { _httpMessage: answering } = socket as Socket & { _httpMessage?: Answering | null };
  if (answering?.req.complete && socket.writable) {
    waiting.add(socket);
    answering.once("close", () => {
      waiting.delete(socket);
      answerUnreadable(error, socket, requestId, onAnswer);
    });
    return;
  }
  const [status, reason, message] = UNREADABLE[error.code ?? ""] ?? NOT_HTTP;
  // Writing into an answer that is under way would garble it.
  const canAnswer = socket.writable && !answering?.headersSent && error.code !== "ECONNRESET";
  if (canAnswer) socket.end(rawReply(status, reason, JSON.stringify(errorBody("other", status, message)), requestId));
  setTimeout(() => socket.destroy(), 1_000).unref();
  if (canAnswer) onAnswer(status, message);
}
