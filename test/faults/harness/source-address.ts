// Loaded into each process of the service before its own code: its connections leave from a separate loopback address, so the
// receiver knows which process sent a request. The product itself has no such code.
import net from "node:net";

const source = process.env.TORTURE_SOURCE!;
const connect = net.Socket.prototype.connect;
net.Socket.prototype.connect = function (this: net.Socket, ...given: unknown[]) {
  // Node passes its own calls on as one array of normalized arguments.
  const options = (Array.isArray(given[0]) ? given[0][0] : given[0]) as { port?: unknown; localAddress?: string };
  if (typeof options === "object" && options.port !== undefined) options.localAddress = source;
  return (connect as (...same: unknown[]) => net.Socket).apply(this, given);
} as typeof connect;
