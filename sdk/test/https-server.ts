import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { createSelfSignedCertificate } from "../../test/self-signed-certificate.ts";

/** Starts an HTTPS server on a free local port. Clients need `ca` to trust it. */
export async function startHttpsServer(listener: (request: IncomingMessage, response: ServerResponse) => void) {
  const { cert, key } = await createSelfSignedCertificate();
  const server = createServer({ cert, key }, listener);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ca: cert,
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}
