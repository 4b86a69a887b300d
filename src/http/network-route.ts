import type { Api } from "./api.ts";

/** GET /network.json: the address ranges that webhooks come from, as the operator set them. Needs no key. */
export function networkRoute(api: Api) {
  api.http.get("/network.json", async () => ({ egressRanges: api.egressRanges }));
}
