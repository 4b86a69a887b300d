import { unavailableError } from "./answer-error.ts";
import type { Api } from "./api.ts";

/** GET /readyz: what the service depends on is there, so requests may come. Needs no key. */
export function readyzRoute(api: Api) {
  api.http.get("/readyz", async () => {
    const { ok, problems } = await api.ready();
    if (!ok) throw unavailableError(`not ready: ${problems.join("; ")}`);
    return { status: "ready" };
  });
}
