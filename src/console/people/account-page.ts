import { findPasswordProblem } from "../../auth/password.ts";
import { signIn } from "../../auth/sign-in.ts";
import { hashOfToken } from "../../auth/token.ts";
import { THEMES } from "../../domain/person.ts";
import { isTimeZone } from "../../domain/time-zone.ts";
import { moveDigests } from "../../notices/notice-settings.ts";
import { changePassword, setPreferences } from "../../tables/people.ts";
import { deleteOtherSessions } from "../../tables/sessions.ts";
import { type Console, redirectTo } from "../console.ts";
import { type HtmlPart, html } from "../html.ts";
import type { Page } from "../page-layout.ts";
import { formButton, formField, formNotice, selectField } from "../show/form-fields.ts";
import { factList } from "../show/table.ts";
import type { Visit } from "../visit.ts";
import { BUSY_MESSAGE } from "./sign-in-pages.ts";

export function accountRoutes(console: Console) {
  const { allTenantsDb, ports, passwords } = console;
  console.page("/account", null, (visit) => accountPage(visit, CONFIRMATIONS[visit.query.get("done") ?? ""] ?? null));
  console.post("/account", null, async (visit) => {
    const zone = visit.form.get("zone") ?? "";
    const theme = THEMES.find((each) => each === visit.form.get("theme")) ?? "system";
    if (!isTimeZone(zone)) return { ...accountPage(visit, formNotice("bad", "Unknown time zone.")), status: 400 };
    await setPreferences(allTenantsDb, visit.person.id, { zone, theme });
    if (zone !== visit.person.zone) await moveDigests(allTenantsDb, { id: visit.person.id, zone }, ports.now());
    return redirectTo(visit.reply, "/account?done=saved");
  });
  console.post("/account/password", null, async (visit) => {
    const { form, person, actor } = visit;
    const refuse = (problem: string) => ({ ...accountPage(visit, formNotice("bad", problem)), status: 400 });
    const newPassword = form.get("password") ?? "";
    if (person.password === null) {
      if (ports.realNow().getTime() - visit.signedInAt.getTime() > RECENT_SIGN_IN_MS)
        return refuse("Sign out and in again first. You can set a password only shortly after a sign-in.");
    } else {
      const former = { email: person.email, password: form.get("former") ?? "", address: actor.address ?? "" };
      const result = await signIn(allTenantsDb, former, passwords, ports);
      if (!("person" in result))
        return refuse(result.refused === "busy" ? BUSY_MESSAGE : "The current password is wrong.");
    }
    const problem = findPasswordProblem(newPassword, person.email);
    if (problem) return refuse(`The password ${problem}.`);
    const password = await passwords.hash(newPassword);
    const isChanged = await allTenantsDb.transaction(async (tx) => {
      if (!(await changePassword(tx, person.id, person.password, password))) return false;
      await deleteOtherSessions(tx, person.id, hashOfToken(visit.token)!);
      return true;
    });
    if (!isChanged) return refuse("The password was just changed in another browser.");
    return redirectTo(visit.reply, "/account?done=password");
  });
  console.post("/account/sessions", null, async ({ person, token, reply }) => {
    await deleteOtherSessions(allTenantsDb, person.id, hashOfToken(token)!);
    return redirectTo(reply, "/account?done=sessions");
  });
}

/** A password can be set only shortly after a provider sign-in, because a browser may have been left open. */
const RECENT_SIGN_IN_MS = 10 * 60_000;

const CONFIRMATIONS: Record<string, HtmlPart> = {
  saved: formNotice("good", "Saved."),
  password: formNotice("good", "The password was changed, and every other browser was signed out."),
  linked: formNotice(
    "good",
    "From now on, sign in as you just did. Your old password no longer works, and other browsers were signed out.",
  ),
  sessions: formNotice("good", "Every other browser was signed out."),
};

const TIME_ZONES = Intl.supportedValuesOf("timeZone");

function accountPage({ person, memberships }: Visit, notice: HtmlPart): Page {
  const zones = ["UTC", ...TIME_ZONES.filter((zone) => zone !== "UTC")];
  return {
    title: "Account",
    body: html`${notice}
${factList([
  ["Name", person.name],
  ["E-mail", person.email],
  ["Merchants", memberships.map(({ name, role }) => html`${name} <span class="soft">as ${role}</span><br>`)],
])}
<section><h2>Display</h2>
<form method="post" action="/account" class="box">
${selectField(
  "Time zone",
  "zone",
  zones.map((zone) => [zone, zone] as const),
  person.zone,
)}
${selectField(
  "Colors",
  "theme",
  [
    ["system", "Same as system"],
    ["light", "Light"],
    ["dark", "Dark"],
  ],
  person.theme,
)}
<button class="main">Save</button></form></section>
<section><h2>Password</h2>
<form method="post" action="/account/password" class="box">
${person.password === null ? html`<p>You sign in without a password. You can also set one within 10 minutes after signing in.</p>` : formField({ label: "Current password", name: "former", type: "password", required: true, autocomplete: "current-password" })}
${formField({ label: "New password", name: "password", type: "password", required: true, autocomplete: "new-password", hint: "At least 12 characters." })}
<button class="main">${person.password === null ? "Set a password" : "Change the password"}</button></form></section>
<section><h2>Other browsers</h2>
<p>A session ends after 12 hours without activity, and after 14 days at the latest.</p>
${formButton("/account/sessions", "Sign out everywhere else")}</section>`,
  };
}
