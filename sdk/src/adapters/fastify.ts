import type { IncomingMessage, ServerResponse } from "node:http";
import type { WebhookReceiver } from "../webhooks/receiver.ts";
import { nodeListener } from "./node.ts";

type Route = (
  path: string,
  handler: (request: { raw: IncomingMessage }, reply: { raw: ServerResponse; hijack(): unknown }) => void,
) => unknown;

/** As far as the plugin needs Fastify 4 and 5. */
export interface FastifyScope {
  removeAllContentTypeParsers(): unknown;
  addContentTypeParser(
    type: string,
    parser: (request: unknown, payload: unknown, done: (error: Error | null, body?: unknown) => void) => void,
  ): unknown;
  all: Route;
}

/** For `app.register(fastifyPlugin(receiver), { prefix: "/dunlin" })`: handles the prefix and all paths below it. */
export function fastifyPlugin(receiver: WebhookReceiver) {
  const listener = nodeListener(receiver);
  return async (scope: FastifyScope): Promise<void> => {
    // Only in the plugin's scope: the receiver reads the original body.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser("*", (_request, _payload, done) => done(null));
    for (const path of ["/", "/*"])
      scope.all(path, (request, reply) => {
        reply.hijack();
        listener(request.raw, reply.raw);
      });
  };
}
