import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";

/** A listener that nobody may reach, and how many did. */
export interface ForbiddenListener {
  port: number;
  /** Connections so far but for our own probe. */
  reached(): number;
  close(): void;
}

/** Listens where told, or on every address of this machine, IPv4 and IPv6; and proves that it can be reached. */
export async function startForbiddenListener(host = "::", port = 0): Promise<ForbiddenListener> {
  let accepted = 0;
  const server = createServer((socket) => {
    accepted++;
    socket.destroy();
  });
  server.listen(port, host);
  await once(server, "listening");
  const { port: chosen } = server.address() as AddressInfo;
  const hosts = host === "::" ? ["127.0.0.1", "::1"] : [host];
  for (const each of hosts) {
    const probe = connect(chosen, each);
    await once(probe, "connect");
    probe.destroy();
  }
  // The listener may hear of a connection later than the one who made it.
  while (accepted < hosts.length) await once(server, "connection");
  return {
    port: chosen,
    reached: () => accepted - hosts.length,
    close: () => void server.close(),
  };
}
