import { buildInviteMail } from "../../auth/invite-mail.ts";
import { createInvite, INVITE_LIFETIME_MS } from "../../auth/invites.ts";
import { isEmail, normalizeEmail } from "../../auth/sign-in.ts";
import { isAllowed, ROLES, type Role } from "../../domain/role.ts";
import { writeAuditEntry } from "../../tables/audit-log.ts";
import { forgetIdentities } from "../../tables/identities.ts";
import { revokeInvite, revokeInvitesOf } from "../../tables/invites.ts";
import { lockMembers, membersOf, removeMember, setRole } from "../../tables/members.ts";
import { type Console, redirectTo } from "../console.ts";
import { type Html, html } from "../html.ts";
import { PageError } from "../page-error.ts";
import { isUuid } from "../page-query.ts";
import { formNotice } from "../show/form-fields.ts";
import { copyableText } from "../show/table.ts";
import type { Visit } from "../visit.ts";
import { membersPage } from "./members-page.ts";

export function memberRoutes(console: Console) {
  const { ports } = console;
  console.page("/org/members", "members", (visit) => membersPage(console, visit, null));
  console.post("/org/members/invite", "members", async (visit) => {
    const role = parseGrantableRole(visit, visit.form.get("role"));
    const email = normalizeEmail(visit.form.get("email") ?? "") || null;
    const refuse = async (says: string) => ({
      ...(await membersPage(console, visit, formNotice("bad", says))),
      status: 400,
    });
    if (email !== null && !isEmail(email)) return refuse("This is not a valid e-mail address.");
    const members = await membersOf(console.allTenantsDb, visit.merchantId);
    if (members.some((member) => member.email === email)) return refuse(`${email} is already a member.`);
    const token = await visit.db.transaction(async (tx) => {
      const invite = await createInvite(
        tx,
        visit.merchantId,
        { role, email, lifeMs: INVITE_LIFETIME_MS, createdBy: visit.person.id },
        ports,
      );
      const change = { operation: "member.invited", object: email ?? "a link", details: { role, invite: invite.id } };
      await writeAuditEntry(tx, visit.merchantId, visit.actor, change, ports);
      return invite.token;
    });
    const link = `${console.authUrl}/join?t=${token}`;
    const says = await sendInvite(console, visit, email, role, link);
    return membersPage(console, visit, html`${says}\n${copyableText("Link", link)}`);
  });
  console.post("/org/members/invite/revoke", "members", async (visit) => {
    const id = visit.form.get("id") ?? "";
    await visit.db.transaction(async (tx) => {
      const revoked = isUuid(id) ? await revokeInvite(tx, visit.merchantId, id, ports.now()) : null;
      if (!revoked) throw new PageError(409, "This invite is no longer valid.");
      const change = {
        operation: "invite.revoked",
        object: revoked.email ?? "a link",
        details: { role: revoked.role, invite: id },
      };
      await writeAuditEntry(tx, visit.merchantId, visit.actor, change, ports);
    });
    return redirectTo(visit.reply, "/org/members");
  });
  console.post("/org/members/role", "members", async (visit) => {
    const role = parseGrantableRole(visit, visit.form.get("role"));
    await changeMember(console, visit, role);
    return redirectTo(visit.reply, "/org/members");
  });
  console.post("/org/members/remove", "members", async (visit) => {
    await changeMember(console, visit, null);
    return redirectTo(visit.reply, visit.form.get("person") === visit.person.id ? "/overview" : "/org/members");
  });
}

/** The invite is valid even if the mail fails. */
async function sendInvite(
  { mailer }: Console,
  visit: Visit,
  email: string | null,
  role: Role,
  link: string,
): Promise<Html> {
  const instructions = `Send this link to ${email ?? "the person"}. It works once, within 7 days, and is shown only now.`;
  if (mailer === null || email === null) return formNotice("good", instructions);
  const problem = await mailer.send(buildInviteMail(email, visit.merchantName, role, visit.person.email, link));
  if (problem === null)
    return formNotice(
      "good",
      `Invite sent to ${email}. If it does not arrive, use this link, which is shown only now.`,
    );
  // The server's message may contain the person's address.
  visit.reply.log.warn({ problem: problem.split(" (")[0] }, "mail.failed");
  return formNotice("warn", `The mail to ${email} failed: ${problem}. The invite is valid. ${instructions}`);
}

/** null ends the membership. */
async function changeMember({ allTenantsDb, ports }: Console, visit: Visit, role: Role | null) {
  const { merchantId } = visit;
  await allTenantsDb.transaction(async (tx) => {
    const members = await lockMembers(tx, merchantId);
    const member = members.find(({ personId }) => personId === visit.form.get("person"));
    if (!member) throw new PageError(409, "This person is no longer a member.");
    if (member.role === "owner" && !visit.may("owners")) throw new PageError(403, "Only an owner can change an owner.");
    const owners = members.filter((each) => each.role === "owner");
    if (member.role === "owner" && role !== "owner" && owners.length === 1)
      throw new PageError(409, "There must be at least one owner. Make another member an owner first.");
    const email = (await membersOf(tx, merchantId)).find(({ personId }) => personId === member.personId)!.email;
    if (role === null) {
      await removeMember(tx, merchantId, member.personId);
      await forgetIdentities(tx, member.personId);
    } else await setRole(tx, merchantId, member.personId, role);
    const revoked = await revokeInvitesOf(tx, merchantId, member.personId, rolesNotGrantableBy(role), ports.now());
    const details = {
      ...(role === null ? { role: member.role } : { before: member.role, now: role }),
      ...(revoked > 0 && { invites: revoked }),
    };
    const operation = role === null ? "member.removed" : "member.changed";
    await writeAuditEntry(
      tx,
      merchantId,
      visit.actor,
      { operation, object: email, details: { ...details, person: member.personId } },
      ports,
    );
  });
}

/** null means no membership. */
const rolesNotGrantableBy = (role: Role | null): Role[] =>
  ROLES.filter(
    (each) => role === null || !isAllowed(role, "members") || (each === "owner" && !isAllowed(role, "owners")),
  );

function parseGrantableRole(visit: Visit, name: string | null): Role {
  const role = ROLES.find((each) => each === name);
  if (!role) throw new PageError(400, `The role must be one of ${ROLES.join(", ")}.`);
  if (role === "owner" && !visit.may("owners")) throw new PageError(403, "Only an owner can add owners.");
  return role;
}
