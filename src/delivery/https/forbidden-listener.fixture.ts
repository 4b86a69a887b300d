import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";

export interface ForbiddenListener {
  port: number;
  /** Connections without the fixture's own probes. */
  reached(): number;
  close(): void;
}

/** Listens on `host`, by default on every address of this machine, and proves that it can be reached. */
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
  // The listener may see a connection later than the client does.
  while (accepted < hosts.length) await once(server, "connection");
  return {
    port: chosen,
    reached: () => accepted - hosts.length,
    close: () => void server.close(),
  };
}
