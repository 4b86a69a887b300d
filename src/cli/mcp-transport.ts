import { once } from "node:events";
import { PassThrough, type Readable, type Writable } from "node:stream";
import { type JSONRPCMessage, parseJSONRPCMessage, type RequestId } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import type { LineOutput } from "./command.ts";

/** A message by which an assistant asks something has a few hundred characters. */
const LINE_LENGTH_MAX = 1024 * 1024;
const PARSE_ERROR = -32700;
const INVALID_REQUEST = -32600;

export interface McpTransport {
  transport: StdioServerTransport;
  /** Resolves when the input has ended and all requests in it are answered. */
  answered: Promise<void>;
}

/**
 * Reads messages line by line. The package's transport drops pending answers at the end of its input, and lines that hold no
 * message. So it gets an input that stays open, and only lines that hold a message.
 */
export function createMcpTransport(input: Readable, output: Writable, stderr: Pick<LineOutput, "print">): McpTransport {
  const messages = new PassThrough();
  const transport = new StdioServerTransport(messages, output);
  const pending = createPendingRequests();
  const send = transport.send.bind(transport);
  transport.send = async (message) => {
    await send(message);
    if (!("method" in message) && message.id !== undefined) pending.remove(message.id);
  };

  const refuse = (code: number, problem: string, id: RequestId | null = null) => {
    stderr.print(`mcp: refused a line of the input: ${problem}`);
    output.write(`${JSON.stringify({ jsonrpc: "2.0", id, error: { code, message: problem } })}\n`);
  };
  const accept = (line: string) => {
    if (line.trim() === "") return;
    if (line.length > LINE_LENGTH_MAX)
      return refuse(INVALID_REQUEST, `a message may have at most ${LINE_LENGTH_MAX} characters`);
    const value = parseJson(line);
    if (value === undefined) return refuse(PARSE_ERROR, "it is not JSON");
    const message = readMessage(value);
    if (message === null) return refuse(INVALID_REQUEST, "it is not a JSON-RPC 2.0 message", idOf(value));
    if ("method" in message && "id" in message) pending.add(message.id);
    if ("method" in message && message.method === "notifications/cancelled")
      pending.remove(message.params?.requestId as RequestId);
    messages.write(`${line}\n`);
  };

  let rest = "";
  input.setEncoding("utf8").on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    // One character too many is enough to refuse the line.
    rest = lines.pop()!.slice(0, LINE_LENGTH_MAX + 1);
    for (const line of lines) accept(line);
  });
  const ended = Promise.race(["end", "close"].map((name) => once(input, name))).catch(() => {});
  const answered = ended.then(() => {
    if (input.readableEnded) accept(rest);
    return pending.settled();
  });
  return { transport, answered };
}

function createPendingRequests() {
  const ids = new Set<RequestId>();
  let onSettled = () => {};
  return {
    add: (id: RequestId) => void ids.add(id),
    remove(id: RequestId) {
      ids.delete(id);
      if (ids.size === 0) onSettled();
    },
    settled: () =>
      new Promise<void>((resolve) => {
        onSettled = resolve;
        if (ids.size === 0) resolve();
      }),
  };
}

/** Undefined if the text is not JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function readMessage(value: unknown): JSONRPCMessage | null {
  try {
    return parseJSONRPCMessage(value);
  } catch {
    return null;
  }
}

function idOf(value: unknown): RequestId | null {
  const { id } = (value ?? {}) as { id?: unknown };
  return typeof id === "string" || typeof id === "number" ? id : null;
}
