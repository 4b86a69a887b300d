import { Duplex } from "node:stream";
import type { FastifyInstance } from "fastify";

export interface Reply {
  statusCode: number;
  headers: Record<string, unknown>;
  body: string;
}

export async function sendMalformedRequest(http: FastifyInstance, code: string): Promise<Reply> {
  let sent = "";
  const socket = new Duplex({
    read() {},
    write(chunk, _encoding, done) {
      sent += chunk;
      done();
    },
  });
  http.server.emit("clientError", Object.assign(new Error(), { code }), socket);
  await new Promise((resolve) => socket.once("finish", resolve));
  const [head, body] = sent.split("\r\n\r\n") as [string, string];
  const [first, ...fields] = head.split("\r\n") as [string, ...string[]];
  const headers = Object.fromEntries(fields.map((field) => field.split(": ", 2)));
  return {
    statusCode: Number(first.split(" ")[1]),
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
    body,
  };
}
