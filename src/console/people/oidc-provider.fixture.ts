import { completeSignIn } from "../../../test/oidc/identity-provider.ts";
import { testApi } from "../../api/api.fixture.ts";
import { createOidc } from "../../auth/oidc.ts";
import { ORIGIN, type TestConsole } from "../console.fixture.ts";
import { createConsolePages } from "../console-pages.ts";
import { SESSION_COOKIE } from "../visit.ts";

export async function createConsoleWithProvider(at: TestConsole, issuer: string) {
  const settings = { issuer, clientId: "dunlin", clientSecret: "s3cret: of a /client", name: "Harbor ID" };
  const oidc = createOidc(settings, ORIGIN, () => at.clock.monotonicMs);
  const { http, close, lines } = await testApi(at.db, at.clock, { pages: createConsolePages({ ...at.options, oidc }) });
  const get = (url: string, cookie = "") => http.inject({ url, headers: { cookie } });
  return {
    get,
    close,
    lines,
    async leave(query = "") {
      const left = await get(`/sign-in/oidc${query}`);
      return { left, cookie: cookieOf(left), url: String(left.headers.location) };
    },
    /** `site` is the browser's Sec-Fetch-Site. */
    async join(token: string, site = "same-origin") {
      const headers = { "content-type": "application/x-www-form-urlencoded", "sec-fetch-site": site };
      const left = await http.inject({ method: "POST", url: "/join/oidc", headers, payload: `t=${token}` });
      const [, url = ""] = /href="(http[^"]+)"/.exec(left.body) ?? [];
      return { left, cookie: cookieOf(left), url: url.replaceAll("&amp;", "&") };
    },
    async signIn(login: Record<string, string>, query = "") {
      const { cookie, url } = query.startsWith("?t=") ? await this.join(query.slice(3)) : await this.leave(query);
      const callback = await completeSignIn(url, login);
      return { reply: await get(callback.pathname + callback.search, cookie), callback, cookie };
    },
  };
}

export type Reply = { headers: Record<string, unknown> };
export const setCookiesOf = (reply: Reply) => [reply.headers["set-cookie"] ?? []].flat().map(String);
export const cookieOf = (reply: Reply) => setCookiesOf(reply)[0]?.split(";")[0] ?? "";
export const sessionOf = (reply: Reply) =>
  setCookiesOf(reply)
    .find((each) => each.startsWith(`${SESSION_COOKIE}=`))
    ?.split(";")[0];
export const verifiedClaims = (email: string, sub = email) => ({
  sub,
  email,
  email_verified: "true",
  name: "Ada Lovelace",
});
