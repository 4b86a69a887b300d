import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/** Below the ports that systems give to outgoing connections: Linux begins at 32,768. */
const FIRST_PORT = 18_000;
const LAST_PORT = 30_000;

/**
 * Returns a port of this machine that is free for now. A server that a test stops gets it back: no outgoing connection takes it
 * meanwhile, because the system chooses those from other ports.
 */
export async function findFreePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST_PORT, LAST_PORT);
    const server = createServer().listen(port, "127.0.0.1");
    try {
      await once(server, "listening");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EADDRINUSE") continue;
      throw error;
    }
    server.close();
    await once(server, "close");
    return port;
  }
}
