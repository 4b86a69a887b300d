import type { WebhookReceiver } from "../webhooks/receiver.ts";

/** For `app.post("/dunlin", honoHandler(receiver))`. */
export function honoHandler(receiver: WebhookReceiver) {
  return (context: { req: { raw: Request } }): Promise<Response> => receiver.receive(context.req.raw);
}
