import type { WebhookReceiver } from "../webhooks/receiver.ts";

/**
 * For `app/dunlin/route.ts` of Next.js: `export const { POST } = nextRoute(receiver)`. Requires the Node runtime, not the edge
 * runtime.
 */
export function nextRoute(receiver: WebhookReceiver) {
  return { POST: (request: Request): Promise<Response> => receiver.receive(request) };
}
