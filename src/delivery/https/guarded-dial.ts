import type { LookupAddress } from "node:dns";
import { isIP, type LookupFunction, type TcpNetConnectOpts } from "node:net";
import tls from "node:tls";
import { type AllowedAddress, findAddressProblem } from "./address-guard.ts";
import { createResolver, type ResolveHostname } from "./dns-lookup.ts";

/** Throws an Error for a literal address that may not be dialled; every later problem goes to `onEnd`. */
export type Dial = (hostname: string, port: number, onEnd: (error: Error | null) => void) => tls.TLSSocket;

/** PEM of a certificate, with its chain, and of its key. */
export interface ClientCertificate {
  cert: string;
  key: string;
}

/** A host may have addresses that swallow packets; the next one is tried after so long, the last one is waited for. */
const NEXT_ADDRESS_DELAY_MS = 2_000;

/**
 * Makes TLS connections to public addresses only, whatever the host's name server says from one moment to the next.
 *
 * @param extraCa  PEM of authorities to trust beside those of Node and of the system
 * @param resolve  injected by tests
 * @param clientCertificate  shown to endpoints that ask for one
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
    const literal = isIP(hostname) !== 0;
    // `lookup` is never asked about a literal.
    const problem = literal ? findAddressProblem(hostname, port, allow) : null;
    if (problem !== null) throw new Error(problem);
    const target: tls.ConnectionOptions & TcpNetConnectOpts = {
      host: hostname,
      port,
      secureContext,
      lookup: createGuardedLookup(resolve, port, allow),
      ALPNProtocols: ["http/1.1"],
      autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_DELAY_MS,
      // No `session`: a resumed one skips the certificate, which may have expired meanwhile.
      ...(literal ? {} : { servername: hostname.replace(/\.$/, "") }),
    };
    const socket = tls.connect(target);
    // What counts is the address that answered, and before the first byte of the handshake.
    socket.prependOnceListener("connect", () => {
      const dialled = findAddressProblem(socket.remoteAddress ?? "", port, allow);
      if (dialled !== null) socket.destroy(new Error(dialled));
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

/** A `lookup` that leaves out addresses that may not be dialled, and fails when none is left. */
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
  return new Error(`${hostname} leads to ${first.address}: ${findAddressProblem(first.address, port, allow)}`);
}
