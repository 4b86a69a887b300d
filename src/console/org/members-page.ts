import { isAllowed, ROLE_OPERATIONS, ROLES, type Role, type RoleOperation } from "../../domain/role.ts";
import { type Invite, openInvites } from "../../tables/invites.ts";
import { type Member, membersOf } from "../../tables/members.ts";
import type { ConsoleOptions } from "../console.ts";
import { type Html, type HtmlPart, html } from "../html.ts";
import type { Page } from "../page-layout.ts";
import { formButton, formField, selectField } from "../show/form-fields.ts";
import { table } from "../show/table.ts";
import { timeElement } from "../show/time-format.ts";
import type { Visit } from "../visit.ts";

export async function membersPage(
  { allTenantsDb, ports, mailer }: ConsoleOptions,
  visit: Visit,
  notice: HtmlPart,
): Promise<Page> {
  const members = await membersOf(allTenantsDb, visit.merchantId);
  const invites = await openInvites(visit.db, visit.merchantId, ports.realNow());
  const roles = ROLES.filter((role) => role !== "owner" || visit.may("owners"));
  const choices = roles.map((role) => [role, role] as const);
  return {
    title: "Members",
    body: html`${notice}
<p class="lead">${members.length} ${members.length === 1 ? "member" : "members"}</p>
${memberTable(members, visit, roles)}
${invites.length > 0 && html`<h2>Open invites</h2>${inviteTable(invites, visit)}`}
<section><h2>Invite a member</h2>
<form method="post" action="/org/members/invite" class="box">
${formField({ label: "E-mail", name: "email", type: "email", hint: `If you enter an address, only that person can use the link${mailer === null ? "" : ", and Dunlin e-mails it"}. Otherwise anyone with the link can join.` })}
${selectField("Role", "role", choices, "viewer")}
<button class="main">Invite</button></form></section>
<details class="more"><summary>Permissions by role</summary>${ROLE_TABLE}</details>`,
  };
}

const memberTable = (members: readonly Member[], visit: Visit, roles: readonly Role[]): Html =>
  table(
    "Members",
    [
      { head: "Person", cell: ({ name, email }) => html`${name}<br><small>${email}</small>` },
      { head: "Role", cell: (member) => roleCell(member, visit, roles) },
      { head: "Member since", cell: ({ createdAt }) => timeElement(createdAt, visit.person.zone) },
      { head: "Last seen", cell: ({ seenAt }) => timeElement(seenAt, visit.person.zone) },
      {
        head: "",
        cell: (member) =>
          canChangeMember(member, visit) &&
          formButton("/org/members/remove", "Remove", { person: member.personId }, "small danger"),
      },
    ],
    members,
  );

const canChangeMember = (member: Member, visit: Visit) => member.role !== "owner" || visit.may("owners");

function roleCell(member: Member, visit: Visit, roles: readonly Role[]): HtmlPart {
  if (!canChangeMember(member, visit)) return member.role;
  return html`<form method="post" action="/org/members/role" class="inline">
<select name="role" aria-label="Role of ${member.name}">${roles.map((role) => html`<option${role === member.role ? html` selected` : ""}>${role}</option>`)}</select>
<input type="hidden" name="person" value="${member.personId}">
<button class="small">Change</button></form>`;
}

const inviteTable = (invites: readonly Invite[], { person: { zone } }: Visit): Html =>
  table(
    "Open invites",
    [
      { head: "For", cell: ({ email }) => email ?? html`<span class="soft">anyone with the link</span>` },
      { head: "Role", cell: ({ role }) => role },
      { head: "Created", cell: ({ createdAt }) => timeElement(createdAt, zone) },
      { head: "Valid until", cell: ({ expiresAt }) => timeElement(expiresAt, zone) },
      { head: "", cell: ({ id }) => formButton("/org/members/invite/revoke", "Revoke", { id }, "small danger") },
    ],
    invites,
  );

const ROLE_TABLE = table(
  "Permissions by role",
  [
    { head: "", cell: ([, words]: readonly [RoleOperation | null, string]) => words },
    ...ROLES.map((role) => ({
      head: role,
      cell: ([operation]: readonly [RoleOperation | null, string]) =>
        operation === null || isAllowed(role, operation) ? "yes" : html`<span class="soft">no</span>`,
    })),
  ],
  [
    [null, "See recovery results, invoices and deliveries"] as const,
    ...(Object.entries(ROLE_OPERATIONS) as [RoleOperation, string][]),
  ],
);
