import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import type { Address } from "../src/postgres/database.ts";

/** A proxy to a database, which can be cut. */
export interface DatabaseTunnel {
  /** As `DATABASE_URL` takes it. */
  url: string;
  /** Holds all bytes in both directions from now on, without closing connections. */
  hold(): void;
  /** Releases held bytes and lets later ones pass. */
  release(): void;
  /** Delays bytes by so many milliseconds in either direction from now on; 0: no delay. */
  delay(ms: number): void;
  close(): Promise<void>;
}

/** Opens a port of this machine that leads to a database. */
export async function openDatabaseTunnel(address: Address): Promise<DatabaseTunnel> {
  const url = new URL("url" in address ? address.url : `postgres://${address.user}@127.0.0.1/${address.database}`);
  const place =
    "url" in address
      ? { host: url.hostname, port: Number(url.port) }
      : { path: join(address.socketDir, ".s.PGSQL.5432") };
  const pairs = new Set<readonly [Socket, Socket]>();
  let isHeld = false;
  let delayMs = 0;
  const server = createServer((near) => {
    const far = connect(place);
    const pair = [near, far] as const;
    pairs.add(pair);
    for (const [from, to] of [pair, [far, near]] as const) {
      // Timers of one length fire in the order in which they were set. One set before the delay ended fires after later bytes, so
      // the last one counts.
      let arrivesAt = 0;
      from.on("data", (bytes) => {
        const now = performance.now();
        arrivesAt = Math.max(arrivesAt, now + delayMs);
        if (arrivesAt <= now) to.write(bytes);
        else setTimeout(() => to.write(bytes), arrivesAt - now);
      });
      from.on("error", () => {});
      from.on("close", () => {
        if (!isHeld) to.destroy();
        if (near.destroyed && far.destroyed) pairs.delete(pair);
      });
      if (isHeld) from.pause();
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  [url.hostname, url.port] = ["127.0.0.1", String((server.address() as AddressInfo).port)];
  url.search = "?sslmode=disable";
  const each = (work: (socket: Socket) => void) => {
    for (const pair of pairs) for (const socket of pair) work(socket);
  };
  return {
    url: url.href,
    hold() {
      isHeld = true;
      each((socket) => socket.pause());
    },
    release() {
      isHeld = false;
      each((socket) => socket.resume());
      // Pairs with an end that was closed meanwhile.
      for (const [near, far] of pairs)
        if (near.destroyed || far.destroyed) for (const socket of [near, far]) socket.destroy();
    },
    delay(ms) {
      delayMs = ms;
    },
    async close() {
      server.close();
      each((socket) => socket.destroy());
      await once(server, "close");
    },
  };
}
