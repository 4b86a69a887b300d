import type { Api } from "./api.ts";

/** GET /healthz: the process is alive. Needs no key. */
export function healthzRoute(api: Api) {
  api.http.get("/healthz", async () => ({ status: "ok" }));
}
