// A process of `delivery`: the ceiling, undici alone, without schedule, guard or log.
import { Pool } from "undici";
import type { Endpoint } from "./delivery-receiver.ts";
import { makeEventBodies } from "./event-bodies.ts";
import { serveRequests } from "./worker-process.ts";

let pool: Pool;
let bodies: string[];

serveRequests({
  open({ endpoint, connections }: { endpoint: Endpoint; connections: number }) {
    const { port, ca } = endpoint;
    pool = new Pool(`https://127.0.0.1:${port}`, { connections, pipelining: 1, connect: { ca }, allowH2: false });
    bodies = makeEventBodies(1_000);
  },
  async run({ count, inFlight }: { count: number; inFlight: number }) {
    let begun = 0;
    const startedMs = performance.now();
    await Promise.all(
      Array.from({ length: inFlight }, async () => {
        while (begun < count) {
          const { statusCode, body } = await pool.request({
            path: "/hooks",
            method: "POST",
            headers: { "content-type": "application/json", authorization: "Bearer a-token-of-some-length" },
            body: bodies[begun++ % bodies.length]!,
          });
          await body.dump();
          if (statusCode !== 200) throw new Error(`status ${statusCode}`);
        }
      }),
    );
    return performance.now() - startedMs;
  },
});
