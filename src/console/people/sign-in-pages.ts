import type { Oidc } from "../../auth/oidc.ts";
import { signIn } from "../../auth/sign-in.ts";
import { hashOfToken } from "../../auth/token.ts";
import { hasPeople } from "../../tables/people.ts";
import { chooseMerchant } from "../../tables/sessions.ts";
import { type Console, redirectTo, sendHtml } from "../console.ts";
import { safePath } from "../cross-site.ts";
import { html } from "../html.ts";
import { PageError } from "../page-error.ts";
import { renderSignedOutPage } from "../page-layout.ts";
import { formField, formNotice, hiddenFields } from "../show/form-fields.ts";
import { clientAddressOf, formOf, urlOf } from "../visit.ts";
import { providerLink } from "./oidc-sign-in.ts";
import { clearSession, startSession } from "./session-cookie.ts";

export function signInRoutes(console: Console) {
  const { http, allTenantsDb, ports, passwords, origin, oidc } = console;
  http.get("/", async (_request, reply) => redirectTo(reply, "/overview"));
  http.get("/sign-in", async (request, reply) => {
    const next = safePath(urlOf(request).searchParams.get("next"), origin);
    const notice = (await hasPeople(allTenantsDb)) ? null : NO_PEOPLE_NOTICE;
    return sendHtml(reply, signInPage(oidc, next, "", notice));
  });
  http.post("/sign-in", async (request, reply) => {
    const form = formOf(request);
    const next = safePath(form.get("next"), origin);
    const email = form.get("email") ?? "";
    const address = clientAddressOf(request, console);
    const result = await signIn(
      allTenantsDb,
      { email, password: form.get("password") ?? "", address },
      passwords,
      ports,
    );
    if ("person" in result) {
      await startSession(console, request, reply, result.person);
      return redirectTo(reply, next);
    }
    const { status, message, waitS } = REFUSALS[result.refused];
    if (waitS !== null) reply.header("retry-after", `${waitS}`);
    return sendHtml(reply.code(status), signInPage(oidc, next, email, formNotice("bad", message)));
  });
  http.post("/sign-out", async (request, reply) => {
    await clearSession(console, request, reply);
    return redirectTo(reply, "/sign-in");
  });
  console.post("/merchant", null, async ({ form, memberships, token, reply }) => {
    const chosen = memberships.find(({ merchantId }) => merchantId === form.get("merchant"));
    if (!chosen) throw new PageError(403, "You are not a member of this merchant.");
    await chooseMerchant(allTenantsDb, hashOfToken(token)!, chosen.merchantId);
    return redirectTo(reply, listPathOf(safePath(form.get("next"), origin)));
  });
}

const listPathOf = (path: string) => path.split("?")[0]!.replace(/^\/(invoices|deliveries|actions)\/.*/, "/$1");

export const BUSY_MESSAGE = "Too many people are signing in right now. Try again in a moment.";
const REFUSALS = {
  wrong: { status: 401, message: "Wrong e-mail address or password.", waitS: null },
  too_many: { status: 429, message: "Too many attempts. Wait 15 minutes.", waitS: 900 },
  busy: { status: 503, message: BUSY_MESSAGE, waitS: 20 },
};
const NO_PEOPLE_NOTICE = formNotice(
  "warn",
  html`Nobody can sign in yet. Use the set-up link that the service printed at its start, or create one with <code>npx dunlin invite</code>.`,
);

const signInPage = (oidc: Oidc | null, next: string, email: string, notice: ReturnType<typeof formNotice> | null) =>
  renderSignedOutPage(
    "Sign in",
    html`${notice}
<form method="post" action="/sign-in">
${formField({ label: "E-mail", name: "email", type: "email", value: email, required: true, autocomplete: "username" })}
${formField({ label: "Password", name: "password", type: "password", required: true, autocomplete: "current-password" })}
${hiddenFields({ next })}<button class="main">Sign in</button>
</form>
${providerLink(oidc, next)}`,
  );
