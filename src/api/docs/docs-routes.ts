import type { Api } from "../../http/api.ts";
import { answerNotFound } from "../../http/not-found.ts";
import { buildOpenApiText } from "../openapi/openapi-document.ts";
import { CONTENT_SECURITY_POLICY } from "./docs-layout.ts";
import type { Site } from "./site.ts";

// Readers see an upgrade within minutes.
const CACHE_HEADERS = { "cache-control": "public, max-age=300", "x-content-type-options": "nosniff" };

/** Needs no key and no internet access. */
export function docsRoutes({ http, baseUrl, pages }: Api) {
  const openApi = buildOpenApiText(baseUrl);
  let site: Promise<Site> | undefined;
  /** Built on the first request, because most processes never get one. */
  const loadSite = () => {
    site ??= import("./site.ts").then(({ buildSite }) => buildSite(openApi, baseUrl));
    return site;
  };
  http.get("/openapi.json", async (_request, reply) =>
    reply.headers({ ...CACHE_HEADERS, "content-type": "application/json; charset=utf-8" }).send(openApi),
  );
  http.get("/llms.txt", async (_request, reply) => reply.redirect("/docs/llms.txt"));
  http.get("/docs", async (_request, reply) => reply.redirect("/docs/"));
  http.get<{ Params: { "*": string } }>("/docs/*", async (request, reply) => {
    const { contentTypeOf } = await import("./site.ts");
    const requestedPath = request.params["*"];
    const path = requestedPath === "" || requestedPath.endsWith("/") ? `${requestedPath}index.html` : requestedPath;
    const files = await loadSite();
    const text = files.get(path);
    if (text === undefined && files.has(`${requestedPath}/index.html`))
      return reply.redirect(`/docs/${requestedPath}/`);
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
