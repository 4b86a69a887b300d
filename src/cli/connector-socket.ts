import { once } from "node:events";
import type { RequestListener, Server } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { ConnectionSettings } from "../domain/connection.ts";
import { ensureLocalCertificate } from "../http/local-certificate.ts";
import { type CommandContext, CommandFailure } from "./command.ts";

/** A port that listens before there is somebody to answer: requests wait until then. */
export interface ConnectorSocket {
  port: number;
  /** File with the authority of its certificate. */
  caFile: string;
  serve(listener: RequestListener): void;
  close(): void;
}

/** @throws CommandFailure if the port cannot be opened */
export async function openConnectorSocket(
  context: CommandContext,
  settings: Pick<ConnectionSettings, "host" | "port" | "endpointUrl">,
): Promise<ConnectorSocket> {
  const { cert, key, caFile } = await loadCertificate(context, settings);
  const serving = Promise.withResolvers<RequestListener>();
  const server = createServer({ cert, key }, (request, response) => {
    void serving.promise.then((listener) => listener(request, response));
  });
  const port = await listen(server, settings.port, settings.host, "--port");
  return {
    port,
    caFile,
    serve: serving.resolve,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** On this machine the service's own one; elsewhere one for the name under which Dunlin reaches the connector. */
async function loadCertificate(
  { settings: { dataDir, baseUrl }, realNow }: CommandContext,
  { endpointUrl }: Pick<ConnectionSettings, "endpointUrl">,
) {
  const [folder, url] = endpointUrl === null ? ["tls", baseUrl] : ["tls-connector", endpointUrl];
  return ensureLocalCertificate(join(dataDir, folder), new URL(url).hostname, realNow());
}

/** @param option  names the port in an error */
export async function listen(
  server: Pick<Server, "listen" | "address">,
  port: number,
  host: string,
  option: string,
): Promise<number> {
  server.listen(port, host);
  await once(server as never, "listening").catch(({ code, message }: NodeJS.ErrnoException) => {
    const isTaken = code === "EADDRINUSE";
    throw new CommandFailure(
      isTaken
        ? `${option}: port ${port} is in use by another process. Stop that process, or choose another port.`
        : `${option}: ${message}`,
    );
  });
  return (server.address() as AddressInfo).port;
}
