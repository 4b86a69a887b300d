import type { Api } from "./api.ts";

/** GET /network.json: the configured source addresses of webhooks. Needs no key. */
export function networkRoute(api: Api) {
  api.http.get("/network.json", async () => ({ egressRanges: api.egressRanges }));
}
