import type { Api } from "../http/api.ts";
import { ingestBatchRoute } from "./ingest-batch-route.ts";
import { SUBSCRIPTION_KIND } from "./subscription-record.ts";

export function ingestSubscriptionsRoute(api: Api) {
  ingestBatchRoute(
    api,
    "/ingest/v1/subscriptions",
    "ingest:subscriptions",
    SUBSCRIPTION_KIND,
    api.ingest.subscriptions,
  );
}
