import type { FastifyReply, FastifyRequest } from "fastify";
import { acceptInvite, countJoinAttempt, findValidInvite } from "../../auth/invites.ts";
import { findPasswordProblem } from "../../auth/password.ts";
import { isEmail, normalizeEmail, signIn } from "../../auth/sign-in.ts";
import type { Person } from "../../domain/person.ts";
import { isTimeZone } from "../../domain/time-zone.ts";
import type { Invite } from "../../tables/invites.ts";
import { findMerchant } from "../../tables/merchants.ts";
import { findPersonByEmail } from "../../tables/people.ts";
import { type Console, redirectTo, sendHtml } from "../console.ts";
import { html } from "../html.ts";
import { renderSignedOutPage } from "../page-layout.ts";
import { formField, formNotice, hiddenFields } from "../show/form-fields.ts";
import { clientAddressOf, formOf, urlOf } from "../visit.ts";
import { providerJoinLink } from "./oidc-sign-in.ts";
import { startSession } from "./session-cookie.ts";
import { BUSY_MESSAGE } from "./sign-in-pages.ts";

/** `/setup` for the first person, `/join` for all others. */
export function joinRoutes(console: Console) {
  for (const path of ["/setup", "/join"]) {
    console.http.get(path, async (request, reply) => {
      const token = urlOf(request).searchParams.get("t") ?? "";
      return sendJoinPage(console, reply, token, {}, null);
    });
    console.http.post(path, (request, reply) => handleJoin(console, request, reply));
  }
}

interface JoinFormInput {
  email?: string;
  name?: string;
}

async function handleJoin(console: Console, request: FastifyRequest, reply: FastifyReply) {
  const { allTenantsDb, ports, passwords } = console;
  const form = formOf(request);
  const token = form.get("t") ?? "";
  const email = normalizeEmail(form.get("email") ?? "");
  const name = (form.get("name") ?? "").trim();
  const password = form.get("password") ?? "";
  const refuse = (problem: string) => sendJoinPage(console, reply.code(400), token, { email, name }, problem);
  const invite = await findValidInvite(allTenantsDb, token, ports);
  if (!invite) return sendJoinPage(console, reply, token, {}, null);
  if (!isEmail(email)) return refuse("This is not a valid e-mail address.");
  // Expensive checks come last, so that another person's link cannot keep the server busy.
  if (invite.email !== null && invite.email !== email) return refuse(REFUSAL_MESSAGES.invalid_invite);
  if (!(await countJoinAttempt(allTenantsDb, invite, ports)))
    return sendJoinPage(
      console,
      reply.code(429).header("retry-after", "900"),
      token,
      {},
      "Too many attempts. Wait 15 minutes.",
    );
  const address = clientAddressOf(request, console);
  const existing = await findPersonByEmail(allTenantsDb, email);
  if (existing) {
    if (existing.password === null) return refuse("This account has no password. Use the button below.");
    // A link must not let its holder in as another person.
    const result = await signIn(allTenantsDb, { email, password, address }, passwords, ports);
    if (!("person" in result))
      return refuse(
        result.refused === "busy" ? BUSY_MESSAGE : "This address already has an account. Enter its password.",
      );
  } else {
    if (name === "" || name.length > 100) return refuse("Enter your name, at most 100 characters.");
    const problem = findPasswordProblem(password, email);
    if (problem) return refuse(`The password ${problem}.`);
  }
  const zone = form.get("zone") ?? "";
  if (passwords.isBusy()) return refuse(BUSY_MESSAGE);
  const person: Person = existing ?? {
    id: ports.newId(),
    email,
    name,
    password: await passwords.hash(password),
    zone: isTimeZone(zone) ? zone : "UTC",
    theme: "system",
    createdAt: ports.now(),
  };
  const refused = await acceptInvite(allTenantsDb, invite, person, existing === null, address, ports);
  if (refused !== null) return refuse(REFUSAL_MESSAGES[refused]);
  await startSession(console, request, reply, person);
  return redirectTo(reply, "/overview");
}

const REFUSAL_MESSAGES = {
  taken: "An account with this address was just created.",
  invalid_invite: "This link is for another address, or was just used.",
  already_member: "You are already a member. Sign in.",
};

async function sendJoinPage(
  console: Console,
  reply: FastifyReply,
  token: string,
  typed: JoinFormInput,
  problem: string | null,
) {
  const invite = await findValidInvite(console.allTenantsDb, token, console.ports);
  // The token in the address must not reach another site.
  reply.header("referrer-policy", "no-referrer");
  if (!invite) return sendHtml(reply.code(404), renderSignedOutPage("This link no longer works", INVITE_ENDED_NOTICE));
  const merchant = await findMerchant(console.tenantDb.of(invite.merchantId), invite.merchantId);
  return sendHtml(
    reply,
    renderSignedOutPage(`Join ${merchant?.name ?? "Dunlin"}`, joinForm(console, invite, token, typed, problem)),
  );
}

const INVITE_ENDED_NOTICE = html`<p>It was used or revoked, or has expired. Ask for a new one. The operator can create one with <code>npx dunlin invite</code>.</p>
<p><a class="button" href="/sign-in">Sign in</a></p>`;

const joinForm = (
  { oidc }: Console,
  invite: Invite,
  token: string,
  typed: JoinFormInput,
  problem: string | null,
) => html`
<p>Your role will be <b>${invite.role}</b>. If you already have an account here, enter its password.</p>
${problem && formNotice("bad", problem)}
<form method="post" action="/join">
${formField({ label: "E-mail", name: "email", type: "email", value: typed.email ?? invite.email ?? "", required: true, autocomplete: "username" })}
${formField({ label: "Name", name: "name", value: typed.name ?? "", autocomplete: "name", maxlength: 100 })}
${formField({ label: "Password", name: "password", type: "password", required: true, autocomplete: "new-password", hint: "At least 12 characters. A sentence is easier to remember than symbols." })}
${hiddenFields({ t: token, zone: "" })}<button class="main">Join</button>
</form>
${providerJoinLink(oidc, token)}`;
