import { passwordProblem } from "../../auth/password.ts";
import { signIn } from "../../auth/sign-in.ts";
import { hashOfToken } from "../../auth/token.ts";
import { THEMES } from "../../domain/person.ts";
import { isZone } from "../../domain/time-zone.ts";
import { changePassword, setView } from "../../store/people.ts";
import { deleteOtherSessions } from "../../store/sessions.ts";
import { type Console, goTo } from "../console.ts";
import type { Page } from "../frame.ts";
import { html, type Part } from "../html.ts";
import { button, choice, field, notice } from "../show/fields.ts";
import { facts } from "../show/table.ts";
import type { Visit } from "../visit.ts";
import { BUSY } from "./sign-in.ts";

/** How a person sees pages, and the person's password. */
export function accountRoutes(console: Console) {
  const { everyone, ports, passwords } = console;
  console.page("/account", null, (visit) => accountPage(visit, DONE[visit.query.get("done") ?? ""] ?? null));
  console.post("/account", null, async (visit) => {
    const zone = visit.form.get("zone") ?? "";
    const theme = THEMES.find((each) => each === visit.form.get("theme")) ?? "system";
    if (!isZone(zone)) return { ...accountPage(visit, notice("bad", "There is no such time zone.")), status: 400 };
    await setView(everyone, visit.person.id, { zone, theme });
    return goTo(visit.reply, "/account?done=saved");
  });
  console.post("/account/password", null, async (visit) => {
    const { form, person, actor } = visit;
    const refuse = (says: string) => ({ ...accountPage(visit, notice("bad", says)), status: 400 });
    const wanted = form.get("password") ?? "";
    if (person.password === null) {
      if (ports.realNow().getTime() - visit.signedInAt.getTime() > FRESH_MS)
        return refuse("Sign out and in again first: a new password is taken only shortly after a sign-in.");
    } else {
      const former = { email: person.email, password: form.get("former") ?? "", address: actor.address ?? "" };
      const result = await signIn(everyone, former, passwords, ports);
      if (!("person" in result))
        return refuse(result.refused === "busy" ? BUSY : "The present password is another one.");
    }
    const problem = passwordProblem(wanted, person.email);
    if (problem) return refuse(`The password ${problem}.`);
    const password = await passwords.hash(wanted);
    const isChanged = await everyone.transaction(async (tx) => {
      if (!(await changePassword(tx, person.id, person.password, password))) return false;
      await deleteOtherSessions(tx, person.id, hashOfToken(visit.token)!);
      return true;
    });
    if (!isChanged) return refuse("The password was changed meanwhile, in another browser.");
    return goTo(visit.reply, "/account?done=password");
  });
  console.post("/account/sessions", null, async ({ person, token, reply }) => {
    await deleteOtherSessions(everyone, person.id, hashOfToken(token)!);
    return goTo(reply, "/account?done=sessions");
  });
}

/** Who signs in with the provider sets a password so soon after that: a browser left open is not enough. */
const FRESH_MS = 10 * 60_000;

const DONE: Record<string, Part> = {
  saved: notice("good", "Saved."),
  password: notice("good", "The password was changed, and every other browser was signed out."),
  linked: notice(
    "good",
    "From now on you sign in as you just did. The password that you had does not open this account any more, and other browsers were signed out.",
  ),
  sessions: notice("good", "Every other browser was signed out."),
};

const ZONES = Intl.supportedValuesOf("timeZone");

function accountPage({ person, memberships }: Visit, says: Part): Page {
  const zones = ["UTC", ...ZONES.filter((zone) => zone !== "UTC")];
  return {
    title: "Account",
    body: html`${says}
${facts([
  ["Name", person.name],
  ["E-mail", person.email],
  ["Works for", memberships.map(({ name, role }) => html`${name} <span class="soft">as ${role}</span><br>`)],
])}
<section><h2>How pages look</h2>
<form method="post" action="/account" class="card">
${choice(
  "Time zone",
  "zone",
  zones.map((zone) => [zone, zone] as const),
  person.zone,
)}
${choice(
  "Colours",
  "theme",
  [
    ["system", "As the machine has them"],
    ["light", "Light"],
    ["dark", "Dark"],
  ],
  person.theme,
)}
<button class="main">Save</button></form></section>
<section><h2>Password</h2>
<form method="post" action="/account/password" class="card">
${person.password === null ? html`<p>You sign in without one. A password beside that is set within 10 minutes of signing in.</p>` : field({ label: "Present password", name: "former", type: "password", required: true, autocomplete: "current-password" })}
${field({ label: "New password", name: "password", type: "password", required: true, autocomplete: "new-password", hint: "At least 12 characters." })}
<button class="main">${person.password === null ? "Set a password" : "Change the password"}</button></form></section>
<section><h2>Other browsers</h2>
<p>A sign-in ends after 12 hours without a page, and after 14 days in any case.</p>
${button("/account/sessions", "Sign out everywhere else")}</section>`,
  };
}
