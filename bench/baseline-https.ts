import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";

export interface BaselineServer {
  port: number;
  close(): void;
}

/**
 * What any receiver of batches needs: TLS, HTTP, and the parsed body.
 *
 * @param onRead  receives the number of records
 */
export async function startBaselineServer(
  certificate: { cert: string; key: string },
  host: string,
  onRead: (records: number) => void = () => {},
): Promise<BaselineServer> {
  const bare = createServer(certificate, (request, response) => {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => {
      const { invoices } = JSON.parse(Buffer.concat(pieces).toString()) as { invoices: unknown[] };
      onRead(invoices.length);
      response.setHeader("content-type", "application/json");
      response.end('{"requestId":"req_0"}');
    });
  });
  // Connections wait while other contenders have their rounds.
  bare.keepAliveTimeout = 600_000;
  bare.listen(0, host);
  await once(bare, "listening");
  return {
    port: (bare.address() as AddressInfo).port,
    close() {
      bare.closeAllConnections();
      bare.close();
    },
  };
}
