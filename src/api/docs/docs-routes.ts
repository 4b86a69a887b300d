import type { Api } from "../../http/api.ts";
import { answerNotFound } from "../../http/not-found.ts";
import { buildOpenApiText } from "../openapi/openapi-document.ts";
import { CONTENT_SECURITY_POLICY } from "./docs-layout.ts";
import type { Site } from "./site.ts";

// An upgrade is seen within minutes; until then a reader's browser need not ask again.
const CACHE_HEADERS = { "cache-control": "public, max-age=300", "x-content-type-options": "nosniff" };

/** GET /openapi.json for programs, and under /docs/ everything for people: served offline, without a key. */
export function docsRoutes({ http, baseUrl, pages }: Api) {
  const openApi = buildOpenApiText(baseUrl);
  let made: Promise<Site> | undefined;
  /** Made when the first reader comes: most processes never have one. */
  const site = () => {
    made ??= import("./site.ts").then(({ buildSite }) => buildSite(openApi, baseUrl));
    return made;
  };
  http.get("/openapi.json", async (_request, reply) =>
    reply.headers({ ...CACHE_HEADERS, "content-type": "application/json; charset=utf-8" }).send(openApi),
  );
  http.get("/llms.txt", async (_request, reply) => reply.redirect("/docs/llms.txt"));
  http.get("/docs", async (_request, reply) => reply.redirect("/docs/"));
  http.get<{ Params: { "*": string } }>("/docs/*", async (request, reply) => {
    const { contentTypeOf } = await import("./site.ts");
    const asked = request.params["*"];
    const path = asked === "" || asked.endsWith("/") ? `${asked}index.html` : asked;
    const files = await site();
    const text = files.get(path);
    if (text === undefined && files.has(`${asked}/index.html`)) return reply.redirect(`/docs/${asked}/`);
    if (text === undefined) return answerNotFound(pages, request, reply);
    return reply
      .headers({
        ...CACHE_HEADERS,
        "content-type": contentTypeOf(path),
        "content-security-policy": `${CONTENT_SECURITY_POLICY}; frame-ancestors 'none'`,
        "referrer-policy": "no-referrer",
      })
      .send(text);
  });
}
