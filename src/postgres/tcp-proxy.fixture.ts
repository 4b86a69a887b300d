import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import type { Address } from "./database.ts";

export interface ProxiedConnection {
  client: Socket;
  postgres: Socket;
}

/**
 * Proxies connections to the embedded server.
 *
 * @param pass  returns what to forward in place of a piece from the client; null forwards nothing
 */
export async function startTcpProxy(
  address: Address,
  pass: (piece: Buffer, between: ProxiedConnection) => Buffer | null,
) {
  const { socketDir, user, database } = address as { socketDir: string; user: string; database: string };
  const server = createServer((client) => {
    const postgres = connect(`${socketDir}/.s.PGSQL.5432`);
    client.on("data", (piece: Buffer) => {
      const passed = pass(piece, { client, postgres });
      if (passed) postgres.write(passed);
    });
    client.on("close", () => postgres.destroy());
    postgres.pipe(client);
    for (const socket of [client, postgres]) socket.on("error", () => {});
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { url: `postgres://${user}@127.0.0.1:${port}/${database}`, close: () => server.close() };
}
