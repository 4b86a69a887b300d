import { connect } from "node:tls";
import type { FuzzTarget } from "./broken-framing.ts";

/** Starts clients that never finish their request. Returns how long the service tolerated each, in milliseconds. */
export function startSlowClients(
  { port, ca, apiKey }: FuzzTarget,
  count: number,
): { ended: Promise<number[]>; stop(): void } {
  const stops: (() => void)[] = [];
  const ended = Promise.all(
    Array.from({ length: count }, (_, index) => {
      const head = `POST /ingest/v1/invoices HTTP/1.1\r\nHost: localhost\r\n`;
      const full = `${head}Authorization: Bearer ${apiKey}\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n`;
      const began = performance.now();
      const socket = connect({ port, host: "127.0.0.1", servername: "localhost", ca });
      socket.on("error", () => {});
      socket.resume();
      socket.write(index % 2 === 0 ? head : full);
      // Sends one byte of a header or a body at a time.
      const dripping = setInterval(() => socket.write("x"), 500);
      stops.push(() => socket.destroy());
      return new Promise<number>((resolve) => {
        socket.once("close", () => {
          clearInterval(dripping);
          resolve(Math.round(performance.now() - began));
        });
      });
    }),
  );
  return {
    ended,
    stop() {
      for (const stop of stops) stop();
    },
  };
}
