import { once } from "node:events";
import tls from "node:tls";

/** Kept alive; only sends prepared requests and checks their status. */
export async function openPoster(port: number, ca: string) {
  const socket = tls.connect({ host: "127.0.0.1", port, ca });
  socket.setNoDelay(true);
  await once(socket, "secureConnect");
  let received = "";
  let answered: { resolve(): void; reject(error: Error): void } | undefined;
  socket.setEncoding("latin1");
  socket.on("data", (text: string) => {
    received += text;
    const head = received.indexOf("\r\n\r\n");
    if (head < 0) return;
    const length = Number(/content-length: (\d+)/i.exec(received)?.[1]);
    if (received.length < head + 4 + length) return;
    const good = received.startsWith("HTTP/1.1 200");
    if (good) answered?.resolve();
    else answered?.reject(new Error(received));
    received = "";
  });
  socket.on("error", (error) => answered?.reject(error));
  socket.on("close", () => answered?.reject(new Error("the connection was closed")));
  return {
    post: (request: Buffer) =>
      new Promise<void>((resolve, reject) => {
        if (socket.closed) return reject(new Error("the connection is closed"));
        answered = { resolve, reject };
        socket.write(request);
      }),
    close: () => socket.destroy(),
  };
}

export function postRequest(path: string, apiKey: string, body: string): Buffer {
  const head = [
    `POST ${path} HTTP/1.1`,
    "host: 127.0.0.1",
    `authorization: Bearer ${apiKey}`,
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  return Buffer.from(`${head.join("\r\n")}\r\n\r\n${body}`);
}
