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

/** `__Host-` keeps other sites from setting it. */
const PROVIDER_COOKIE = "__Host-dunlin-provider";

export function providerRoutes(console: Console) {
  const { http, oidc } = console;
  if (oidc === null) return;
  http.get("/sign-in/oidc", (request, reply) => {
    const next = safePath(urlOf(request).searchParams.get("next"), console.origin);
    return redirectToProvider(console, oidc, request, reply, { next, invite: null }, (url) => redirectTo(reply, url));
  });
  // Only an invite's own page accepts it, so that no link on another site makes someone a member.
  http.post("/join/oidc", (request, reply) => {
    const state = { next: "/overview", invite: formOf(request).get("t") };
    return redirectToProvider(console, oidc, request, reply, state, (url) => sendHtml(reply, forwardPage(oidc, url)));
  });
  http.get(OIDC_CALLBACK, (request, reply) => handleCallback(console, oidc, request, reply));
}

/** The content security policy blocks a form that redirects to another site, but no link. */
export const providerLink = (oidc: Oidc | null, next: string): HtmlPart =>
  oidc &&
  html`<p><a class="button" href="/sign-in/oidc?${new URLSearchParams({ next }).toString()}">Sign in with ${oidc.name}</a></p>`;

export const providerJoinLink = (oidc: Oidc | null, token: string): HtmlPart =>
  oidc &&
  html`<form method="post" action="/join/oidc">${hiddenFields({ t: token })}<button>Join with ${oidc.name}</button></form>`;

const forwardPage = ({ name }: Oidc, url: string) =>
  renderSignedOutPage(
    `Continue to ${name}`,
    html`<meta http-equiv="refresh" content="0; url=${url}"><p><a class="button" href="${url}">Continue to ${name}</a></p>`,
  );

async function redirectToProvider(
  console: Console,
  oidc: Oidc,
  request: FastifyRequest,
  reply: FastifyReply,
  state: SignInState,
  go: (url: string) => unknown,
) {
  const { allTenantsDb, ports } = console;
  const token = await beginProviderRedirect(allTenantsDb, clientAddressOf(request, console), ports);
  if (token === null)
    return answerRefusal(reply.header("retry-after", "900"), 429, "Too many attempts. Wait 15 minutes.");
  const to = await oidc.authorizationUrl(token);
  if ("trouble" in to) return answerProviderError(oidc, request, reply, to);
  const value = `${token}.${Buffer.from(JSON.stringify(state)).toString("base64url")}`;
  reply.header("set-cookie", formatCookie(PROVIDER_COOKIE, value, REDIRECT_TIMEOUT_MS));
  return go(to.url);
}

interface SignInState {
  next: string | null;
  invite: string | null;
}

async function handleCallback(console: Console, oidc: Oidc, request: FastifyRequest, reply: FastifyReply) {
  const { allTenantsDb, ports, origin } = console;
  const [token = "", state = ""] = (cookieOf(request, PROVIDER_COOKIE) ?? "").split(".");
  const callback = urlOf(request);
  // A request from another site must not end a sign-in in progress.
  if (!oidc.matchesToken(callback, token) || !(await completeProviderRedirect(allTenantsDb, token, ports)))
    return answerRefusal(
      reply,
      400,
      "This sign-in started in another browser, was already completed, or took too long. Start again.",
    );
  reply.header("set-cookie", formatCookie(PROVIDER_COOKIE, "", 0));
  const claims = await oidc.claims(callback, token);
  if ("trouble" in claims) return answerProviderError(oidc, request, reply, claims);
  const { next, invite } = parseSignInState(state);
  const openInvite = invite === null ? null : await findValidInvite(allTenantsDb, invite, ports);
  const result = await signInByProvider(allTenantsDb, claims, openInvite, clientAddressOf(request, console), ports);
  if ("refused" in result) return answerRefusal(reply, 403, REFUSAL_REASONS[result.refused](result.email, oidc.name));
  await startSession(console, request, reply, result.person);
  return redirectTo(reply, result.passwordRemoved ? "/account?done=linked" : safePath(next, origin));
}

const REFUSAL_REASONS: Record<ProviderRefusal, (email: string | null, provider: string) => string> = {
  unverified: (email, provider) =>
    `${provider} has not verified ${email === null ? "an e-mail address of yours" : `that ${email} is yours`}. Verify it there, then sign in again.`,
  unknown: (email) => `${email} has no account here and no open invite. Ask an owner for an invite.`,
  another: (email, provider) =>
    `${email} is linked to a different ${provider} account. Ask an owner to remove that member and invite you again.`,
};

/** From the browser, so the values are checked like parts of an address. */
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
      `${oidc.name} is not responding. Try again in a moment, or sign in with your password.`,
    );
  if (trouble === "denied") return answerRefusal(reply, 403, `${oidc.name} refused the sign-in, or you canceled it.`);
  return answerRefusal(
    reply,
    400,
    `Sign-in failed: the response from ${oidc.name} could not be verified. See request ${request.id} in the log.`,
  );
}

const answerRefusal = (reply: FastifyReply, status: number, problem: string) =>
  sendHtml(
    reply.code(status),
    renderSignedOutPage(
      "You are not signed in",
      html`${formNotice("bad", problem)}<p><a class="button" href="/sign-in">Sign in</a></p>`,
    ),
  );
