import type { WebhookReceiver } from "../webhooks/receiver.ts";

/** For Next.js, in `app/dunlin/route.ts`: `export const { POST } = nextRoute(receiver)`. Requires the Node runtime. */
export function nextRoute(receiver: WebhookReceiver) {
  return { POST: (request: Request): Promise<Response> => receiver.receive(request) };
}
