import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import type { Address } from "./database.ts";

/** A client's connection, and the one to the server behind it. */
export interface ProxiedConnection {
  client: Socket;
  postgres: Socket;
}

/**
 * Stands between clients and the embedded server.
 *
 * @param pass  gets what a client sends, piece by piece, and returns what is passed on instead; null: nothing
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
