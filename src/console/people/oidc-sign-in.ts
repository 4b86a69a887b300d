import type { FastifyReply, FastifyRequest } from "fastify";
import { findValidInvite } from "../../auth/invites.ts";
import { OIDC_CALLBACK, type Oidc, type OidcFailure } from "../../auth/oidc.ts";
import { beginProviderRedirect, completeProviderRedirect, REDIRECT_TIMEOUT_MS } from "../../auth/provider-redirect.ts";
import { type ProviderRefusal, signInByProvider } from "../../auth/provider-sign-in.ts";
import { errorFields } from "../../postgres/database-errors.ts";
import { type Console, redirectTo, sendHtml } from "../console.ts";
import { safePath } from "../cross-site.ts";
import { type HtmlPart, html } from "../html.ts";
import { renderSignedOutPage } from "../page-layout.ts";
import { formNotice, hiddenFields } from "../show/form-fields.ts";
import { clientAddressOf, cookieOf, formOf, urlOf } from "../visit.ts";
import { formatCookie, startSession } from "./session-cookie.ts";

/** What the browser keeps while it is at the provider; `__Host-`: no other site can plant it. */
const PROVIDER_COOKIE = "__Host-dunlin-provider";

/** Signing in with the identity provider: there, and back again. */
export function providerRoutes(console: Console) {
  const { http, oidc } = console;
  if (oidc === null) return;
  http.get("/sign-in/oidc", (request, reply) => {
    const next = safePath(urlOf(request).searchParams.get("next"), console.origin);
    return redirectToProvider(console, oidc, request, reply, { next, invite: null }, (url) => redirectTo(reply, url));
  });
  // An invite is followed from its own page alone, which names the merchant: a link on another site makes nobody a member.
  http.post("/join/oidc", (request, reply) => {
    const plan = { next: "/overview", invite: formOf(request).get("t") };
    return redirectToProvider(console, oidc, request, reply, plan, (url) => sendHtml(reply, forwardPage(oidc, url)));
  });
  http.get(OIDC_CALLBACK, (request, reply) => handleCallback(console, oidc, request, reply));
}

/** The way to the provider, as a link: a form would be held up by the content security policy where it goes on elsewhere. */
export const providerLink = (oidc: Oidc | null, next: string): HtmlPart =>
  oidc &&
  html`<p><a class="button" href="/sign-in/oidc?${new URLSearchParams({ next }).toString()}">Sign in with ${oidc.name}</a></p>`;

/** The same for who follows an invite. */
export const providerJoinLink = (oidc: Oidc | null, token: string): HtmlPart =>
  oidc &&
  html`<form method="post" action="/join/oidc">${hiddenFields({ t: token })}<button>Join with ${oidc.name}</button></form>`;

/** A page in place of a redirect, which browsers do not let a form follow to another site. */
const forwardPage = ({ name }: Oidc, url: string) =>
  renderSignedOutPage(
    `To ${name}`,
    html`<meta http-equiv="refresh" content="0; url=${url}"><p><a class="button" href="${url}">Go on to ${name}</a></p>`,
  );

async function redirectToProvider(
  console: Console,
  oidc: Oidc,
  request: FastifyRequest,
  reply: FastifyReply,
  plan: SignInState,
  go: (url: string) => unknown,
) {
  const { allTenantsDb, ports } = console;
  const token = await beginProviderRedirect(allTenantsDb, clientAddressOf(request, console), ports);
  if (token === null)
    return answerRefusal(reply.header("retry-after", "900"), 429, "Too many tries. Wait a quarter of an hour.");
  const to = await oidc.authorizationUrl(token);
  if ("trouble" in to) return answerProviderError(oidc, request, reply, to);
  const value = `${token}.${Buffer.from(JSON.stringify(plan)).toString("base64url")}`;
  reply.header("set-cookie", formatCookie(PROVIDER_COOKIE, value, REDIRECT_TIMEOUT_MS));
  return go(to.url);
}

/** What the browser keeps of a sign-in: where it goes on, and which invite was followed. */
interface SignInState {
  next: string | null;
  invite: string | null;
}

async function handleCallback(console: Console, oidc: Oidc, request: FastifyRequest, reply: FastifyReply) {
  const { allTenantsDb, ports, origin } = console;
  const [token = "", plan = ""] = (cookieOf(request, PROVIDER_COOKIE) ?? "").split(".");
  const callback = urlOf(request);
  // What another site sends the browser to must not end a sign-in that is under way.
  if (!oidc.matchesToken(callback, token) || !(await completeProviderRedirect(allTenantsDb, token, ports)))
    return answerRefusal(
      reply,
      400,
      "This sign-in was begun in another browser, ended before, or took too long. Begin again.",
    );
  reply.header("set-cookie", formatCookie(PROVIDER_COOKIE, "", 0));
  const claims = await oidc.claims(callback, token);
  if ("trouble" in claims) return answerProviderError(oidc, request, reply, claims);
  const { next, invite } = parseSignInState(plan);
  const followed = invite === null ? null : await findValidInvite(allTenantsDb, invite, ports);
  const result = await signInByProvider(allTenantsDb, claims, followed, clientAddressOf(request, console), ports);
  if ("refused" in result) return answerRefusal(reply, 403, REFUSAL_REASONS[result.refused](result.email, oidc.name));
  await startSession(console, request, reply, result.person);
  return redirectTo(reply, result.passwordRemoved ? "/account?done=linked" : safePath(next, origin));
}

const REFUSAL_REASONS: Record<ProviderRefusal, (email: string | null, provider: string) => string> = {
  unverified: (email, provider) =>
    `${provider} has not made sure that ${email ?? "an e-mail address"} is yours. Verify it there, then sign in again.`,
  unknown: (email) => `${email} is not known here, and no invite is open for it. Ask an owner for one.`,
  another: (email, provider) =>
    `${email} belonged to somebody else at ${provider} before. An owner can remove that member, and invite you anew.`,
};

/** The browser's own words; what they lead to is checked as if they stood in an address. */
function parseSignInState(text: string): SignInState {
  try {
    const { next, invite } = JSON.parse(Buffer.from(text, "base64url").toString());
    return { next: typeof next === "string" ? next : null, invite: typeof invite === "string" ? invite : null };
  } catch {
    return { next: null, invite: null };
  }
}

function answerProviderError(
  oidc: Oidc,
  request: FastifyRequest,
  reply: FastifyReply,
  { trouble, error }: OidcFailure,
) {
  const { cause } = error as Error;
  const errorCause = cause instanceof Error ? errorFields(cause).errorMessage : undefined;
  request.log.warn({ ...errorFields(error), errorCause, trouble }, "oidc.failed");
  if (trouble === "unreachable")
    return answerRefusal(
      reply,
      502,
      `${oidc.name} does not answer right now. Try again in a moment, or sign in with your password.`,
    );
  if (trouble === "denied")
    return answerRefusal(reply, 403, `${oidc.name} did not let you through, or you turned back.`);
  return answerRefusal(
    reply,
    400,
    `What ${oidc.name} answered can't be believed, so nobody was signed in. The log says why, under request ${request.id}.`,
  );
}

const answerRefusal = (reply: FastifyReply, status: number, says: string) =>
  sendHtml(
    reply.code(status),
    renderSignedOutPage(
      "You are not signed in",
      html`${formNotice("bad", says)}<p><a class="button" href="/sign-in">To the sign-in</a></p>`,
    ),
  );
