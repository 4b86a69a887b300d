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

/** Who works for the merchant, invites, and what each role may do. */
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
    if (email !== null && !isEmail(email)) return refuse("This is not an e-mail address.");
    const members = await membersOf(console.allTenantsDb, visit.merchantId);
    if (members.some((member) => member.email === email)) return refuse(`${email} is a member already.`);
    const token = await visit.db.transaction(async (tx) => {
      const made = await createInvite(
        tx,
        visit.merchantId,
        { role, email, lifeMs: INVITE_LIFETIME_MS, madeBy: visit.person.id },
        ports,
      );
      const change = { deed: "member.invited", object: email ?? "a link", details: { role, invite: made.id } };
      await writeAuditEntry(tx, visit.merchantId, visit.actor, change, ports);
      return made.token;
    });
    const link = `${console.authUrl}/join?t=${token}`;
    const says = await sendInvite(console, visit, email, role, link);
    return membersPage(console, visit, html`${says}\n${copyableText("Link", link)}`);
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

/** Send the invite, where there is mail and an address; and say what is left to do. The invite holds whatever becomes of the mail. */
async function sendInvite(
  { mailer }: Console,
  visit: Visit,
  email: string | null,
  role: Role,
  link: string,
): Promise<Html> {
  const byHand = `Send this link to ${email ?? "the person"}. It works once, for 7 days, and is shown only now.`;
  if (mailer === null || email === null) return formNotice("good", byHand);
  const problem = await mailer.send(buildInviteMail(email, visit.merchantName, role, visit.person.email, link));
  if (problem === null)
    return formNotice(
      "good",
      `An invite went to ${email}. Should it not arrive: this link does the same, and is shown only now.`,
    );
  // What the server said may name the person.
  visit.reply.log.warn({ problem: problem.split(" (")[0] }, "mail.failed");
  return formNotice("warn", `No mail went to ${email}: ${problem}. The invite holds. ${byHand}`);
}

/** Give a member another role; null: end the membership. */
async function changeMember({ allTenantsDb, ports }: Console, visit: Visit, role: Role | null) {
  const { merchantId } = visit;
  await allTenantsDb.transaction(async (tx) => {
    const members = await lockMembers(tx, merchantId);
    const held = members.find(({ personId }) => personId === visit.form.get("person"));
    if (!held) throw new PageError(409, "This person is no longer a member.");
    if (held.role === "owner" && !visit.may("owners")) throw new PageError(403, "Only an owner can change an owner.");
    const owners = members.filter((each) => each.role === "owner");
    if (held.role === "owner" && role !== "owner" && owners.length === 1)
      throw new PageError(409, "Somebody must be an owner: make another member one first.");
    const who = (await membersOf(tx, merchantId)).find(({ personId }) => personId === held.personId)!.email;
    if (role === null) {
      await removeMember(tx, merchantId, held.personId);
      await forgetIdentities(tx, held.personId);
    } else await setRole(tx, merchantId, held.personId, role);
    const revoked = await revokeInvitesOf(tx, merchantId, held.personId, rolesNotGrantableBy(role), ports.now());
    const details = {
      ...(role === null ? { role: held.role } : { before: held.role, now: role }),
      ...(revoked > 0 && { invites: revoked }),
    };
    const deed = role === null ? "member.removed" : "member.changed";
    await writeAuditEntry(
      tx,
      merchantId,
      visit.actor,
      { deed, object: who, details: { ...details, person: held.personId } },
      ports,
    );
  });
}

/** The roles to which a person may not invite any more, being this from now on; null: no member. */
const rolesNotGrantableBy = (role: Role | null): Role[] =>
  ROLES.filter(
    (each) => role === null || !isAllowed(role, "members") || (each === "owner" && !isAllowed(role, "owners")),
  );

/** The role that a form names. Nobody makes owners but owners. */
function parseGrantableRole(visit: Visit, named: string | null): Role {
  const role = ROLES.find((each) => each === named);
  if (!role) throw new PageError(400, `A role is one of ${ROLES.join(", ")}.`);
  if (role === "owner" && !visit.may("owners")) throw new PageError(403, "Only an owner can make owners.");
  return role;
}
