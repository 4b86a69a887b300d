import { unavailableError } from "./answer-error.ts";
import type { Api } from "./api.ts";

export function healthzRoute(api: Api) {
  api.http.get("/healthz", async () => ({ status: "ok" }));
}

/** GET /readyz: whether the service's dependencies are available. Needs no key. */
export function readyzRoute(api: Api) {
  api.http.get("/readyz", async () => {
    const { ok, problems } = await api.ready();
    if (!ok) throw unavailableError(`not ready: ${problems.join("; ")}`);
    return { status: "ready" };
  });
}
