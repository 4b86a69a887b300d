import type { WebhookReceiver } from "../webhooks/receiver.ts";

/** For `app/dunlin/route.ts` of Next.js: `export const { POST } = nextRoute(receiver)`. The route runs on Node, not on the edge. */
export function nextRoute(receiver: WebhookReceiver) {
  return { POST: (request: Request): Promise<Response> => receiver.receive(request) };
}
