import { createInvite, INVITE_MS } from "../../auth/invites.ts";
import { normalEmail } from "../../auth/sign-in.ts";
import { DEEDS, type Deed, may, ROLES, type Role } from "../../domain/role.ts";
import { audit } from "../../store/audit-log.ts";
import { forgetIdentities } from "../../store/identities.ts";
import { type Invite, openInvites, revokeInvite } from "../../store/invites.ts";
import { holdMembers, type Member, membersOf, removeMember, setRole } from "../../store/members.ts";
import { type Console, goTo } from "../console.ts";
import type { Page } from "../frame.ts";
import { type Html, html, type Part } from "../html.ts";
import { PageError } from "../page-error.ts";
import { isUuid } from "../query.ts";
import { button, choice, field, notice } from "../show/fields.ts";
import { moment } from "../show/moments.ts";
import { copyable, table } from "../show/table.ts";
import type { Visit } from "../visit.ts";

/** Who works for the merchant, invites, and what each role may do. */
export function memberRoutes(console: Console) {
  const { ports } = console;
  console.page("/org/members", "members", (visit) => membersPage(console, visit, null));
  console.post("/org/members/invite", "members", async (visit) => {
    const role = roleFor(visit, visit.form.get("role"));
    const email = normalEmail(visit.form.get("email") ?? "") || null;
    const token = await visit.db.transaction(async (tx) => {
      const made = await createInvite(tx, visit.merchantId, { role, email, lifeMs: INVITE_MS }, ports);
      const change = { deed: "member.invited", object: email ?? "a link", details: { role, invite: made.id } };
      await audit(tx, visit.merchantId, visit.actor, change, ports);
      return made.token;
    });
    const link = `${console.authUrl}/join?t=${token}`;
    const says = html`${notice("good", html`Send this link to ${email ?? "the person"}. It works once, for 7 days, and is shown only now.`)}
${copyable("Link", link)}`;
    return membersPage(console, visit, says);
  });
  console.post("/org/members/invite/revoke", "members", async (visit) => {
    const id = visit.form.get("id") ?? "";
    await visit.db.transaction(async (tx) => {
      const gone = isUuid(id) ? await revokeInvite(tx, visit.merchantId, id, ports.now()) : null;
      if (!gone) throw new PageError(409, "This invite is over already.");
      const change = {
        deed: "invite.revoked",
        object: gone.email ?? "a link",
        details: { role: gone.role, invite: id },
      };
      await audit(tx, visit.merchantId, visit.actor, change, ports);
    });
    return goTo(visit.reply, "/org/members");
  });
  console.post("/org/members/role", "members", async (visit) => {
    const role = roleFor(visit, visit.form.get("role"));
    await change(console, visit, role);
    return goTo(visit.reply, "/org/members");
  });
  console.post("/org/members/remove", "members", async (visit) => {
    await change(console, visit, null);
    return goTo(visit.reply, visit.form.get("person") === visit.person.id ? "/overview" : "/org/members");
  });
}

/** Give a member another role; null: end the membership. */
async function change({ everyone, ports }: Console, visit: Visit, role: Role | null) {
  const { merchantId } = visit;
  await everyone.transaction(async (tx) => {
    const members = await holdMembers(tx, merchantId);
    const held = members.find(({ personId }) => personId === visit.form.get("person"));
    if (!held) throw new PageError(409, "This person is no member any more.");
    if (held.role === "owner" && !visit.may("owners")) throw new PageError(403, "Only an owner can change an owner.");
    const owners = members.filter((each) => each.role === "owner");
    if (held.role === "owner" && role !== "owner" && owners.length === 1)
      throw new PageError(409, "Somebody must be an owner: make another member one first.");
    const who = (await membersOf(tx, merchantId)).find(({ personId }) => personId === held.personId)!.email;
    if (role === null) {
      await removeMember(tx, merchantId, held.personId);
      await forgetIdentities(tx, held.personId);
    } else await setRole(tx, merchantId, held.personId, role);
    const details = role === null ? { role: held.role } : { before: held.role, now: role };
    const deed = role === null ? "member.removed" : "member.changed";
    await audit(
      tx,
      merchantId,
      visit.actor,
      { deed, object: who, details: { ...details, person: held.personId } },
      ports,
    );
  });
}

/** The role that a form names. Nobody makes owners but owners. */
function roleFor(visit: Visit, named: string | null): Role {
  const role = ROLES.find((each) => each === named);
  if (!role) throw new PageError(400, `A role is one of ${ROLES.join(", ")}.`);
  if (role === "owner" && !visit.may("owners")) throw new PageError(403, "Only an owner can make owners.");
  return role;
}

async function membersPage({ everyone, ports }: Console, visit: Visit, says: Part): Promise<Page> {
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
${field({ label: "E-mail", name: "email", type: "email", hint: "With an address the link is for it alone; without one it is for whoever has it." })}
${choice("Role", "role", choices, "viewer")}
<button class="main">Make a link</button></form></section>
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
