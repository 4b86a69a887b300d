import { Pool } from "undici";

/** As Dunlin's: keep-alive HTTPS, its headers, the whole body read. */
export function createPosting({ port, ca }, connections) {
  const pool = new Pool(`https://127.0.0.1:${port}`, { connections, pipelining: 1, connect: { ca }, allowH2: false });
  return {
    async post(body) {
      const { statusCode, body: reply } = await pool.request({
        path: "/hooks",
        method: "POST",
        headers: { "content-type": "application/json", authorization: "Bearer a-token-of-some-length" },
        body,
      });
      await reply.dump();
      if (statusCode !== 200) throw new Error(`status ${statusCode}`);
      return statusCode;
    },
    close: () => pool.close(),
  };
}

/** Milliseconds since 1970, with a fraction: all processes share this clock. */
export const clock = () => performance.timeOrigin + performance.now();

/** Resolves when `isOver`, or when time is up. */
export async function until(limitMs, isOver, everyMs = 5) {
  for (const deadline = clock() + limitMs; !(await isOver()) && clock() < deadline; )
    await new Promise((resolve) => setTimeout(resolve, everyMs));
}
