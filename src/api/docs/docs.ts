import type { Api } from "../api.ts";
import { openApiText } from "../openapi/document.ts";
import { CONTENT_SECURITY_POLICY, docsPage } from "./page.ts";

// An upgrade is seen within minutes; until then a reader's browser need not ask again.
const CACHE = { "cache-control": "public, max-age=300", "x-content-type-options": "nosniff" };

/** GET /docs and GET /openapi.json: the interface for people and for programs. Made once, served offline, without a key. */
export function docsRoutes({ http, baseUrl }: Api) {
  const text = openApiText(baseUrl);
  const page = docsPage(text, baseUrl);
  http.get("/openapi.json", async (_request, reply) =>
    reply.headers({ ...CACHE, "content-type": "application/json; charset=utf-8" }).send(text),
  );
  http.get("/docs", async (_request, reply) =>
    reply
      .headers({
        ...CACHE,
        "content-type": "text/html; charset=utf-8",
        "content-security-policy": CONTENT_SECURITY_POLICY,
        "referrer-policy": "no-referrer",
      })
      .send(page),
  );
}
