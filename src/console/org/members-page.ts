import { DEEDS, type Deed, may, ROLES, type Role } from "../../domain/role.ts";
import { type Invite, openInvites } from "../../store/invites.ts";
import { type Member, membersOf } from "../../store/members.ts";
import type { ConsoleOptions } from "../console.ts";
import type { Page } from "../frame.ts";
import { type Html, html, type Part } from "../html.ts";
import { button, choice, field } from "../show/fields.ts";
import { moment } from "../show/moments.ts";
import { table } from "../show/table.ts";
import type { Visit } from "../visit.ts";

/** The members, the invites that are open, and what each role may do. `says`: what a form said back. */
export async function membersPage(
  { everyone, ports, mailer }: ConsoleOptions,
  visit: Visit,
  says: Part,
): Promise<Page> {
  const members = await membersOf(everyone, visit.merchantId);
  const invites = await openInvites(visit.db, visit.merchantId, ports.realNow());
  const roles = ROLES.filter((role) => role !== "owner" || visit.may("owners"));
  const choices = roles.map((role) => [role, role] as const);
  return {
    title: "Members",
    body: html`${says}
<p class="lead">${members.length} ${members.length === 1 ? "person works" : "people work"} here</p>
${memberTable(members, visit, roles)}
${invites.length > 0 && html`<h2>Open invites</h2>${inviteTable(invites, visit)}`}
<section><h2>Invite somebody</h2>
<form method="post" action="/org/members/invite" class="card">
${field({ label: "E-mail", name: "email", type: "email", hint: `With an address the link is for it alone${mailer === null ? "" : ", and goes there by mail"}; without one it is for whoever has it.` })}
${choice("Role", "role", choices, "viewer")}
<button class="main">Invite</button></form></section>
<section><h2>What roles may do</h2>${MATRIX}</section>`,
  };
}

const memberTable = (members: readonly Member[], visit: Visit, roles: readonly Role[]): Html =>
  table(
    "Members",
    [
      { head: "Person", cell: ({ name, email }) => html`${name}<br><small>${email}</small>` },
      { head: "Role", cell: (member) => roleCell(member, visit, roles) },
      { head: "Member since", cell: ({ createdAt }) => moment(createdAt, visit.person.zone) },
      { head: "Last seen", cell: ({ seenAt }) => moment(seenAt, visit.person.zone) },
      {
        head: "",
        cell: (member) =>
          mayChange(member, visit) &&
          button("/org/members/remove", "Remove", { person: member.personId }, "small danger"),
      },
    ],
    members,
  );

const mayChange = (member: Member, visit: Visit) => member.role !== "owner" || visit.may("owners");

function roleCell(member: Member, visit: Visit, roles: readonly Role[]): Part {
  if (!mayChange(member, visit)) return member.role;
  return html`<form method="post" action="/org/members/role" class="inline">
<select name="role" aria-label="Role of ${member.name}">${roles.map((role) => html`<option${role === member.role ? html` selected` : ""}>${role}</option>`)}</select>
<input type="hidden" name="person" value="${member.personId}">
<button class="small">Change</button></form>`;
}

const inviteTable = (invites: readonly Invite[], { person: { zone } }: Visit): Html =>
  table(
    "Open invites",
    [
      { head: "For", cell: ({ email }) => email ?? html`<span class="soft">whoever has the link</span>` },
      { head: "Role", cell: ({ role }) => role },
      { head: "Made", cell: ({ createdAt }) => moment(createdAt, zone) },
      { head: "Works until", cell: ({ expiresAt }) => moment(expiresAt, zone) },
      { head: "", cell: ({ id }) => button("/org/members/invite/revoke", "Take back", { id }, "small danger") },
    ],
    invites,
  );

const MATRIX = table(
  "What roles may do",
  [
    { head: "", cell: ([, words]: readonly [Deed | null, string]) => words },
    ...ROLES.map((role) => ({
      head: role,
      cell: ([deed]: readonly [Deed | null, string]) =>
        deed === null || may(role, deed) ? "yes" : html`<span class="soft">no</span>`,
    })),
  ],
  [[null, "See what is recovered, invoices and deliveries"] as const, ...(Object.entries(DEEDS) as [Deed, string][])],
);
