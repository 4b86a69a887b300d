import type { LookupAddress } from "node:dns";
import { isIP, type LookupFunction, type TcpNetConnectOpts } from "node:net";
import tls from "node:tls";
import { type AllowedAddress, findAddressProblem } from "./address-guard.ts";
import { createResolver, type ResolveHostname } from "./dns-lookup.ts";

/** Throws for a refused numeric address. Passes later errors to `onEnd`. */
export type Dial = (hostname: string, port: number, onEnd: (error: Error | null) => void) => tls.TLSSocket;

/** PEM. `cert` includes its chain. */
export interface ClientCertificate {
  cert: string;
  key: string;
}

const NEXT_ADDRESS_DELAY_MS = 2_000;

/**
 * Connects to allowed addresses only, even if the name server's answer changes between lookups.
 *
 * @param extraCa  PEM of authorities to trust besides those of Node and the system
 * @param clientCertificate  for endpoints that request one
 */
export function createGuardedDial(
  allow: readonly AllowedAddress[],
  extraCa: string | null,
  resolve: ResolveHostname = createResolver(),
  clientCertificate: ClientCertificate | null = null,
): Dial {
  const secureContext = tls.createSecureContext({
    ca: [...trustedAuthorities(), ...(extraCa === null ? [] : [extraCa])],
    ...clientCertificate,
  });
  return (hostname, port, onEnd) => {
    const isLiteral = isIP(hostname) !== 0;
    // `lookup` is not called for a numeric address.
    const problem = isLiteral ? findAddressProblem(hostname, port, allow) : null;
    if (problem !== null) throw new Error(problem);
    const target: tls.ConnectionOptions & TcpNetConnectOpts = {
      host: hostname,
      port,
      secureContext,
      lookup: createGuardedLookup(resolve, port, allow),
      ALPNProtocols: ["http/1.1"],
      autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_DELAY_MS,
      // No `session`: resuming one skips the certificate check, and it may have expired.
      ...(isLiteral ? {} : { servername: hostname.replace(/\.$/, "") }),
    };
    const socket = tls.connect(target);
    // Before the first byte of the handshake.
    socket.prependOnceListener("connect", () => {
      const remoteProblem = findAddressProblem(socket.remoteAddress ?? "", port, allow);
      if (remoteProblem !== null) socket.destroy(new Error(remoteProblem));
    });
    socket.setNoDelay(true);
    socket.once("secureConnect", () => onEnd(null));
    socket.on("error", onEnd);
    socket.once("close", () => onEnd(new Error("the connection was closed")));
    return socket;
  };
}

const trustedAuthorities = () => [
  ...new Set([...tls.getCACertificates("default"), ...tls.getCACertificates("system")]),
];

/** Fails if no address remains. */
function createGuardedLookup(resolve: ResolveHostname, port: number, allow: readonly AllowedAddress[]): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname).then(
      (found) => {
        const [first, ...rest] = found.filter(({ address }) => findAddressProblem(address, port, allow) === null);
        if (first === undefined) callback(refusalError(hostname, port, found, allow), "", 0);
        else if (options.all) callback(null, [first, ...rest]);
        else callback(null, first.address, first.family);
      },
      (error: Error) => callback(error, "", 0),
    );
  };
}

function refusalError(hostname: string, port: number, found: LookupAddress[], allow: readonly AllowedAddress[]) {
  const [first] = found;
  if (first === undefined) return new Error(`${hostname} has no address`);
  const problem = findAddressProblem(first.address, port, allow);
  return new Error(`${hostname} resolves to a refused address: ${problem}`);
}
